"""One simple command of a shell script, with all that stands around it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One simple command, its wrappers (`sudo`, `env`, `xargs`) taken off into commands of their own."""

    name: str
    """Without the directory of the system's own programs; a hole where it is known only at run time."""
    args: tuple[str, ...]
    line: int
    column: int
    redirects: tuple[tuple[str, str], ...] = ()
    """Operator and target: `>>`, `~/.bashrc`."""
    assigns: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    """What a here-document or here-string gives to its standard input."""
    before: Command | None = None
    """What is piped into it."""
    loops: tuple[str, ...] = ()
    """Kinds of the loops around it, innermost first; `endless` for `while true`."""
    function: str = ""
    """The function that it stands in."""
    background: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments that are not options."""
        return tuple(arg for arg in self.args if not arg.startswith("-") or arg == "-")

    def has(self, *options: str) -> bool:
        """Whether one of the options is there; short ones also in a bundle (`-rf`)."""
        for option in options:
            for arg in self.args:
                if arg == option or arg.startswith(option + "="):
                    return True
                if len(option) == 2 and arg.startswith("-") and not arg.startswith("--") and option[1] in arg[1:]:
                    return True
        return False
