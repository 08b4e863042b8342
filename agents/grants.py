"""What a block needs beyond the sandbox, and who grants it: packages for the session, a network for one block."""

from __future__ import annotations

import ast
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autogen_core import CancellationToken

from agents.parts import Parts
from safety import notebook
from safety.code_blocks import CodeBlock
from safety.verdicts import BlockReview
from sandbox.base import ExecutionResult, Installation
from sandbox.packages import install_lines
from sandbox.packages.names import looks_like, name_of, normalised, package_of, requirement, well_known
from sessions.events import NoticeEvent
from sessions.progress import Step
from sessions.questions import Answer, AskedBlock, Question

SOURCE = "code_executor"
MAX_GRANTS = 5
"""Modules that are granted one after the other for one block."""

_MISSING = re.compile(r"^ModuleNotFoundError: No module named '([\w.]{1,100})'(?:; .*)?$")
_LAST_LINES = 5
"""Lines at the end of an output where the error that ended a program is looked for."""


@dataclass(frozen=True)
class Need:
    """What one block needs before it can run."""

    packages: tuple[str, ...] = ()
    """Requirements that the sandbox does not meet yet."""
    network: bool = False
    settled: bool = False
    """Nothing else about the block is to be asked: a yes to these is a yes to the run."""


@dataclass(frozen=True)
class Missing:
    """A module that a block did not find, and the package that brings it."""

    module: str
    package: str


class Grants:
    """Finds out what blocks of one message need, asks for it, and has it installed.

    `asked` gives a block as the human must see it, `record` keeps the answer.
    """

    def __init__(
        self,
        parts: Parts,
        message: str,
        token: CancellationToken,
        asked: Callable[[CodeBlock], AskedBlock],
        record: Callable[[Question, Answer, Sequence[str]], None],
    ) -> None:
        self._parts = parts
        self._message = message
        self._token = token
        self._asked = asked
        self._record = record
        self._granted: set[str] = set()

    def need(self, block: CodeBlock, review: BlockReview) -> Need | None:
        """What the block's own lines ask for; None where a grant would not help or none is needed."""
        if review.verdict != "ask":
            return None
        touched = {finding.touches for finding in review.findings if finding.verdict == "ask"}
        network = "network" in touched and self._parts.sandbox.info.network == "ask"
        lines = install_lines.InstallLines()
        if "packages" in touched:
            lines = install_lines.read(block.language, block.code)
        if lines.other or not (network or lines.requirements):
            lines = install_lines.InstallLines()
            if not network:
                return None
        rest = touched - ({"network"} if network else set()) - ({"packages"} if lines.requirements else set())
        lacking = self._parts.sandbox.lacks(lines.requirements)
        return Need(
            packages=tuple(text for text in lacking if text not in self._granted),
            network=network,
            settled=not rest and review.by != "nobody",
        )

    def allowed(self, requirements: Sequence[str]) -> bool:
        """Whether sandbox.yaml grants all of them without a question."""
        allow = {normalised(name) for name in self._parts.packages_allowed}
        return all(name_of(text) in allow for text in requirements)

    def foreseen(self, block: CodeBlock) -> tuple[str, ...]:
        """Packages that a block's imports will need and that sandbox.yaml grants without a question."""
        if block.language != "python" or not self._parts.packages_allowed:
            return ()
        packages = {package for module in _imports(block.code) if (package := package_of(module))}
        return self._parts.sandbox.lacks(sorted(package for package in packages if self.allowed([package])))

    def missing(self, block: CodeBlock, result: ExecutionResult) -> Missing | None:
        """The module that ended the run for want of a package that can be granted."""
        if result.exit_code == 0 or block.language not in ("python", "bash", "sh"):
            return None
        lines = [line.strip() for line in result.output.splitlines() if line.strip()]
        found = [match[1] for line in lines[-_LAST_LINES:] if (match := _MISSING.match(line))]
        if not found:
            return None
        module = found[-1].partition(".")[0]
        package = package_of(module)
        own = self._parts.sandbox.work_dir / module
        if not package or own.exists() or own.with_suffix(".py").exists():
            return None
        return Missing(module, package) if self._parts.sandbox.lacks([package]) else None

    async def ask_packages(self, block: CodeBlock, requirements: Sequence[str], missing: str = "") -> Answer:
        """Ask for packages that the block installs, or whose module it did not find (`missing`).

        A yes is a yes to the run, too: once, or once more. Raises `EndOfInputError`.
        """
        named = ", ".join(_named(text) for text in requirements)
        place = f"block {block.index + 1} ({block.language})"
        if missing:
            what = f"There is no module {missing} for {place}, which stopped. Install {named} and run it again?"
        else:
            what = f"Install {named} for {place} and run it?"
        once = "once more" if missing else "once"
        warnings = [text for wanted in requirements if (text := _warning(wanted, guessed=bool(missing)))]
        permits = (
            "A yes fetches wheels with this machine's pip, which runs none of their code, installs them in the "
            f"sandbox, and runs these exact bytes {once}."
        )
        question = Question(
            id=uuid.uuid4().hex,
            kind="package",
            text=" ".join([*warnings, what, permits]),
            source=SOURCE,
            message=self._message,
            blocks=(self._asked(block),),
            options=("yes", "no"),
            details={"packages": list(requirements), "module": missing, "warnings": warnings},
        )
        answer = await self._put(question, block)
        if answer.decision == "yes":
            self._granted.update(requirements)
        return answer

    async def ask_network(self, block: CodeBlock) -> Answer:
        """Ask for a network for this block alone. A yes is a yes to the run, too. Raises `EndOfInputError`."""
        info = self._parts.sandbox.info
        question = Question(
            id=uuid.uuid4().hex,
            kind="network",
            text=(
                f"Run block {block.index + 1} ({block.language}) with a network? A yes runs these exact bytes once in "
                "a sandbox of their own that reaches the internet, and whatever this machine reaches, with the "
                f"workspace's files ({info.timeout_s} s); the next block has no network again."
            ),
            source=SOURCE,
            message=self._message,
            blocks=(self._asked(block),),
            options=("yes", "no"),
            details={"touches": sorted({str(f["touches"]) for f in self._asked(block).findings})},
        )
        return await self._put(question, block)

    async def _put(self, question: Question, block: CodeBlock) -> Answer:
        answer = await self._parts.desk.put(question, self._token)
        said = answer.text.strip().lower()
        yes = answer.decision == "yes" or (answer.decision == "text" and said in ("approve", "yes", "y"))
        plain = Answer("yes") if yes else Answer("no", text=answer.text)
        self._record(question, answer, [block.digest] if yes else [])
        return plain

    async def install(self, requirements: Sequence[str]) -> Installation:
        """Have granted packages installed, and tell of it. Raises `SandboxError`; cancelled with the token."""
        desk = self._parts.desk
        desk.progress(Step(SOURCE, "installing", "started", detail=", ".join(requirements)))
        try:
            done = await self._parts.sandbox.install(requirements, cancellation_token=self._token)
        finally:
            desk.progress(Step(SOURCE, "installing", "ended"))
        if not done.problem:
            self._parts.state.reset_counters()
        text = done.problem or f"Installed for this session: {', '.join(done.packages) or ', '.join(requirements)}."
        desk.emit(NoticeEvent(source=SOURCE, kind="packages", text=text))
        return done


def _named(text: str) -> str:
    parsed = requirement(text)
    return text if parsed is None or parsed.specifier else f"{text} (its newest version)"


def _warning(text: str, *, guessed: bool) -> str:
    """What should make the human look twice at a name."""
    name = name_of(text)
    if other := looks_like(name):
        return f"Look twice: {name} is one edit away from the well-known {other}."
    if guessed and name not in well_known():
        return f"{name} is not among the well-known packages, and only a guess from the module's name."
    return ""


def _imports(code: str) -> set[str]:
    cells = notebook.split(code)
    try:
        tree = ast.parse(cells[0] if cells is not None else code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found
