"""Text of models and programs, made fit for a screen: shown, never obeyed."""

from __future__ import annotations

from safety.visible import visible

WIDEST = 4000
"""Characters of one line that are shown; the rest is counted."""


def shown(text: str, *, code: bool = False) -> str:
    """The text with its control characters visible and its line ends made one kind; in code every invisible one."""
    return visible(text.replace("\r\n", "\n"), words=not code)


def one_line(text: str, limit: int = WIDEST) -> str:
    """The text on one line, cut after `limit` characters with the rest counted."""
    line = " ".join(shown(text).split("\n"))
    if len(line) <= limit:
        return line
    return f"{line[:limit]} … {len(line) - limit:,} more characters"


def seconds(duration_s: float) -> str:
    """A duration as it is read: `0.02 s`, `3.1 s`, `2 min 5 s`."""
    if duration_s < 0.01:
        return "<0.01 s"
    if duration_s < 0.095:
        return f"{duration_s:.2f} s"
    if duration_s < 59.95:
        return f"{duration_s:.1f} s"
    minutes, rest = divmod(round(duration_s), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size(count: int) -> str:
    """A number of bytes as it is read: `812 B`, `23.4 KB`, `1.2 MB`."""
    if count < 1000:
        return f"{count} B"
    value, unit = count / 1000, "KB"
    for larger in ("MB", "GB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}"


def counted(number: int, noun: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
