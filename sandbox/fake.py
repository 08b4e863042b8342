"""A sandbox that runs nothing: it plays a script of results, and fails loudly where the script does not fit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from autogen_core import CancellationToken

from sandbox import languages as table
from sandbox.base import ExecutionResult, FileChange, Installation, OnOutput, SandboxInfo
from sandbox.describe import describe
from sandbox.packages.names import name_of
from sandbox.packages.shelf import lacking
from sandbox.policy import MIB, SandboxPolicy
from sandbox.work_dir import Limits, WorkDir
from utils.errors import SandboxError
from utils.image_recipe import packages as image_packages


class ScriptError(AssertionError):
    """The test ran more, or other, code than its script foresees."""


@dataclass(frozen=True)
class Scripted:
    """One result of the script, and what it is for."""

    output: str = ""
    exit_code: int = 0
    code: str | None = None
    """Text that the block must contain; none: any block."""
    language: str | None = None
    """Canonical name that the block must have; none: any."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that the block makes in the work directory."""
    error: SandboxError | None = None
    """The sandbox's own failure, raised instead of a result."""
    hangs: bool = False
    """The block runs until it is cancelled."""
    result: ExecutionResult | None = None
    """A result with more in it; `output`, `exit_code` and `files` are not looked at then."""


Script = Iterable[Scripted | Callable[[str, str], ExecutionResult]]


class FakeSandbox:
    """Plays `script`, one entry a block. A function in it is given language and code.

    `packages`: versions of what can be installed, by normalised name.

    Raises `ScriptError` when a block does not fit or comes after the end; `ran` lists what was run.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        work_dir: Path,
        policy: SandboxPolicy | None = None,
        packages: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._script = list(script)
        self._work_dir = work_dir
        self._policy = policy or SandboxPolicy()
        self._files = WorkDir(work_dir, Limits(self._policy.files_in_mib * MIB, self._policy.files_in))
        self._names = table.in_image(self._policy.variant)
        self._started = False
        self.warned: tuple[str, ...] = ()
        """What a human should know before any block."""
        self.ran: list[tuple[str, str]] = []
        """Canonical language and code of each block, in order."""
        self.with_network: list[str] = []
        """Code of each block that had a network, in order."""
        self._registry = packages
        self._there = {name.lower(): version for name, version in image_packages().items()}
        self.installed: list[tuple[str, ...]] = []
        """Requirements of each installation that went well, in order."""

    @property
    def info(self) -> SandboxInfo:
        """What a block may assume."""
        return replace(describe(self._policy, self._names), runtime="fake")

    @property
    def languages(self) -> Mapping[str, str]:
        """Fence names with the language each means."""
        return table.fence_names(self._names)

    @property
    def work_dir(self) -> Path:
        """Directory where files come back."""
        return self._work_dir

    async def start(self) -> None:
        """Make the work directory."""
        self._work_dir.mkdir(parents=True, exist_ok=True)
        self._started = True

    async def run(
        self,
        language: str,
        code: str,
        *,
        cancellation_token: CancellationToken,
        on_output: OnOutput | None = None,
        network: bool = False,
    ) -> ExecutionResult:
        """Play the next entry of the script."""
        known = table.choose(language, self._names, self._policy.variant)
        if network and self._policy.network == "none":
            raise SandboxError("No block may have a network here.")
        if not self._started:
            await self.start()
        if cancellation_token.is_cancelled():
            return ExecutionResult(exit_code=130, output="", duration_s=0.0, cancelled=True)
        if not self._script:
            raise ScriptError(f"The script is at its end, but this was to run:\n{code}")
        entry = self._script.pop(0)
        self.ran.append((known.name, code))
        if network:
            self.with_network.append(code)
        if not isinstance(entry, Scripted):
            return entry(known.name, code)
        if entry.language not in (None, known.name) or (entry.code is not None and entry.code not in code):
            raise ScriptError(f"The script foresees {entry.language or ''} {entry.code!r} here, not:\n{code}")
        if entry.error is not None:
            raise entry.error
        if on_output is not None and entry.output:
            on_output("stdout", entry.output)
        if entry.hangs:
            await _until_cancelled(cancellation_token)
            return ExecutionResult(exit_code=130, output=entry.output, duration_s=0.0, cancelled=True)
        if entry.result is not None:
            return entry.result
        changes = tuple(self._write(name, data) for name, data in entry.files.items())
        return ExecutionResult(exit_code=entry.exit_code, output=entry.output, duration_s=0.0, files=changes)

    def _write(self, name: str, data: bytes) -> FileChange:
        change = self._files.receive(name, data, first=True, last=True)
        assert change is not None
        return change

    def warnings(self, language: str, code: str) -> tuple[str, ...]:
        """What `warned` says."""
        return self.warned

    def lacks(self, requirements: Sequence[str]) -> tuple[str, ...]:
        """Those that neither the image nor what was installed meets."""
        return lacking(requirements, self._there)

    async def install(self, requirements: Sequence[str], *, cancellation_token: CancellationToken) -> Installation:
        """Install what `packages` has."""
        if cancellation_token.is_cancelled():
            raise asyncio.CancelledError
        missing = lacking(requirements, self._registry)
        if missing:
            return Installation(problem=f"There is no wheel of {', '.join(missing)}.")
        new = {name_of(text): self._registry[name_of(text)] for text in requirements}
        self._there.update(new)
        self.installed.append(tuple(requirements))
        return Installation(tuple(f"{name} {version}" for name, version in new.items()))

    async def put_files(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """Copy files of the host into the work directory."""
        await self.start()
        return tuple(self._files.adopt(paths))

    async def stop(self) -> None:
        """Nothing is left to remove."""
        self._started = False

    def check_finished(self) -> None:
        """Raise `ScriptError` where entries were never played."""
        if self._script:
            raise ScriptError(f"{len(self._script)} entries of the script were never played.")


async def _until_cancelled(cancellation_token: CancellationToken) -> None:
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    cancellation_token.link_future(waiting)
    await asyncio.wait({waiting})
