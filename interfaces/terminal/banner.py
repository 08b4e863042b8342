"""The first lines of a chat: who answers, where code runs and within what limits."""

from __future__ import annotations

from typing import Protocol

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from interfaces.terminal.hanging import Hanging, mark
from interfaces.terminal.outlet import GAP
from interfaces.terminal.plain import one_line
from interfaces.terminal.trimmed import Trimmed
from sandbox.base import SandboxInfo
from utils.settings import AskPolicy

DEMO_LINE = "demo (recorded conversation)"

_ASK = {
    "always": "every run and every result is asked about",
    "risky": "what looks risky is asked about",
    "never": "nothing is asked; what looks risky does not run",
}
NEXT_STEPS: tuple[RenderableType, ...] = (
    Text("That was a recording. To ask for something of your own:", style="bold"),
    Hanging("  1  ", Text("put a key into .env, as .env.example shows, or start Ollama")),
    Hanging("  2  ", Text("python main.py")),
)


class Info(Protocol):
    """What a conversation tells of itself."""

    @property
    def model(self) -> str:
        """Profile and model, for people."""
        ...

    @property
    def sandbox(self) -> SandboxInfo:
        """Where code runs."""
        ...

    @property
    def edited_prompts(self) -> tuple[str, ...]:
        """Names of the agents whose prompt is not as shipped."""
        ...

    @property
    def session(self) -> str:
        """Identifier of the session."""
        ...

    @property
    def ask(self) -> AskPolicy:
        """When the human is asked."""
        ...


def banner(info: Info, *, demo: bool, human: bool) -> list[RenderableType]:
    """The lines, each a name and what it is."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="faint", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("model", one_line(info.model))
    grid.add_row("sandbox", one_line(_sandbox(info.sandbox)))
    grid.add_row("asks", _ASK[info.ask] if human else "nobody is there to ask: what looks risky does not run")
    grid.add_row("session", f"{info.session}")
    title = Text("Roundtable", style="bold")
    title.append("  agents that write, review and run code", style="faint not bold")
    parts: list[RenderableType] = [Text(DEMO_LINE, style="bold yellow")] if demo else []
    parts += [title, Trimmed(grid)]
    if info.sandbox.network == "full":
        parts.append(mark("every block has a network: it reaches whatever this machine reaches", "deny"))
    if info.sandbox.runtime.startswith("local"):
        parts.append(mark(one_line(info.sandbox.runtime), "deny"))
    for name in info.edited_prompts:
        parts.append(mark(f"{one_line(name)} prompt edited", "notice"))
    return [*parts, GAP]


def _sandbox(info: SandboxInfo) -> str:
    network = {"none": "no network", "ask": "network if granted", "full": "with network"}[info.network]
    limits = [f"{value} {name.removesuffix('s') if value == '1' else name}" for name, value in info.limits.items()]
    shown = [limit for limit in limits[:4] if not limit.endswith("time a block")]
    return ", ".join([info.runtime, network, *shown, f"{info.timeout_s} s a block"])
