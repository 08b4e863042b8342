"""What every sandbox offers to the agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from autogen_core import CancellationToken

OnOutput = Callable[[Literal["stdout", "stderr"], str], None]
"""Called on the event loop with each piece of output as it comes."""


@dataclass(frozen=True)
class FileChange:
    """A file of the work directory that a block made, changed or deleted."""

    path: str
    """Below the work directory, with forward slashes."""
    size: int
    """Bytes."""
    sha256: str = ""
    change: Literal["new", "changed", "deleted"] = "new"


@dataclass(frozen=True)
class ExecutionResult:
    """How one block ended. A program's failure is a result; the sandbox's own failure is `SandboxError`."""

    exit_code: int
    """128 + n for a death by signal n; 124 for a time-out; 130 for a cancel."""
    output: str
    """Standard output and standard error as they came, decoded with replacement; head and tail where it was capped."""
    duration_s: float
    truncated: bool = False
    timed_out: bool = False
    oom: bool = False
    cancelled: bool = False
    signal: int = 0
    """Signal that ended the process, else 0."""
    files: tuple[FileChange, ...] = ()
    left_behind: tuple[str, ...] = ()
    """Files that could not come back, each with the reason."""
    notes: tuple[str, ...] = ()
    """What the user and the generator should know beside the output: a fresh sandbox was needed, a name was refused."""


@dataclass(frozen=True)
class Installation:
    """What came of a grant of packages."""

    packages: tuple[str, ...] = ()
    """What is there now that was not, with what it needs: `rich 14.1.0`."""
    problem: str = ""
    """Why nothing was installed, for the human and the generator; empty where it was."""


@dataclass(frozen=True)
class SandboxInfo:
    """What a block may assume, for the banner and the generator's prompt."""

    runtime: str
    """`docker (runc)`, `docker (runsc), kernel`, `fake`; `local` or `local-kernel` begin a warning."""
    languages: tuple[str, ...]
    """Canonical names that can be run here."""
    packages: tuple[str, ...]
    """Names of Python packages beyond the standard library."""
    network: Literal["none", "ask", "full"]
    limits: Mapping[str, str]
    """What is limited, in words with units: `memory`: `1 GiB`."""
    timeout_s: int
    state: bool = False
    """Python blocks share one interpreter."""
    policy: str = ""
    """Digest of what the sandbox permits: an approval is bound to it."""


class Sandbox(Protocol):
    """A place where one block at a time runs. Not safe for concurrent `run` calls."""

    @property
    def info(self) -> SandboxInfo:
        """What a block may assume. Known before `start`."""
        ...

    @property
    def languages(self) -> Mapping[str, str]:
        """Fence names in lower case, each with the canonical name of a language that can be run here."""
        ...

    @property
    def work_dir(self) -> Path:
        """Directory of the host where files come back. Exists once the sandbox is started."""
        ...

    async def start(self) -> None:
        """Make it ready; nothing where it is. Raises `SandboxError`."""
        ...

    async def run(
        self,
        language: str,
        code: str,
        *,
        cancellation_token: CancellationToken,
        on_output: OnOutput | None = None,
        network: bool = False,
    ) -> ExecutionResult:
        """Run one block, exactly these bytes, and wait for its end.

        `network`: this block alone has one. Where the policy says `none` that is a `SandboxError`.

        A cancel stops the block within a second and returns a result with `cancelled`. Raises `SandboxError` when the
        sandbox itself failed; the next call then starts a fresh one.
        """
        ...

    def warnings(self, language: str, code: str) -> tuple[str, ...]:
        """What a human should know before this block runs: refused and shadowing names, imports of changed files."""
        ...

    def lacks(self, requirements: Sequence[str]) -> tuple[str, ...]:
        """Those of the requirements (`rich>=13`) that no package here meets."""
        ...

    async def install(self, requirements: Sequence[str], *, cancellation_token: CancellationToken) -> Installation:
        """Fetch packages as wheels, on the host, and install them for this block and all that follow.

        Requirements name packages with versions, nothing else. None of their code runs on the host. A cancel raises
        `asyncio.CancelledError`. Raises `SandboxError` when the sandbox itself failed.
        """
        ...

    async def put_files(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """Copy files and directories of the host into the workspace; hidden files never. Returns what was left out."""
        ...

    async def stop(self) -> None:
        """Remove everything. Never raises for what is already gone."""
        ...
