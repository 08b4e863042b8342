"""What a rule is: an identifier, a verdict, why, and examples both ways."""

from __future__ import annotations

from dataclasses import dataclass

from safety.verdicts import Finding, Touches, Verdict


@dataclass(frozen=True)
class Rule:
    """One thing that a family looks for."""

    id: str
    """Family, dot, name: `network.socket`."""
    verdict: Verdict
    touches: Touches
    why: str
    """One line: what it can do."""
    bad: tuple[str, ...]
    """Code that it flags; a first line `#!bash` marks shell."""
    good: tuple[str, ...] = ()
    """Near code that it leaves alone."""

    def at(self, line: int, message: str, column: int = 0, verdict: Verdict | None = None) -> Finding:
        """A finding of this rule at a place of the block."""
        return Finding(
            rule=self.id,
            verdict=verdict or self.verdict,
            message=message,
            line=line,
            column=column,
            touches=self.touches,
        )
