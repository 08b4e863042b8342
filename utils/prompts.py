"""Prompt files: plain text that anyone may edit, with a few variables written `{{name}}`.

`python -m utils.prompts` notes the digests of the prompts as they are shipped, after a change by the project itself.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from utils.errors import ConfigurationError
from utils.settings import ROOT

PROMPTS = ROOT / "prompts"
SHIPPED = PROMPTS / ".shipped.json"
"""Digest of each prompt as it was shipped, by file name."""

_VARIABLE = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}")


def load_prompt(path: Path, variables: Mapping[str, str]) -> str:
    """Read a prompt and put in its variables. They may be left out, but not misspelt.

    Raises `ConfigurationError` that names the file, its line and the variables that there are.
    """
    text = _read(path)

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name in variables:
            return variables[name]
        line = text.count("\n", 0, match.start()) + 1
        close = difflib.get_close_matches(name, variables, n=1)
        hint = f"Did you mean {{{{{close[0]}}}}}?" if close else f"There are: {_names(variables)}."
        raise ConfigurationError(f"{path}:{line}: unknown variable {{{{{name}}}}}.", hint)

    return _VARIABLE.sub(value, text).strip() + "\n"


def is_edited(path: Path) -> bool:
    """Whether a prompt is another than the one shipped under its name. False for one that never was shipped."""
    try:
        shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
        return path.name in shipped and shipped[path.name] != digest(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def digest(text: str) -> str:
    """SHA-256 of a prompt, whatever its line ends and the white space at the end of its lines."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def note_shipped(directory: Path = PROMPTS) -> None:
    """Note the prompts of a directory as the shipped ones."""
    digests = {path.name: digest(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.md"))}
    (directory / SHIPPED.name).write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        shipped = PROMPTS / path.name
        mend = f"git checkout -- {PROMPTS.name}/{path.name}" if path == shipped else f"cp {shipped} {path}"
        raise ConfigurationError(f"The prompt {path} is missing.", f"Put it back: {mend}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The prompt {path} cannot be read: {error}.", "Make it readable UTF-8.") from error
    if not text.strip():
        raise ConfigurationError(f"The prompt {path} is empty.", "Write what the agent is told, or put it back.")
    return text


def _names(variables: Mapping[str, str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in sorted(variables)) or "none"


if __name__ == "__main__":
    note_shipped()
