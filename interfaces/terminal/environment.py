"""The environment of the program, with the file `.env` beside main.py read under it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from utils.errors import ConfigurationError

ROOT_FILE = Path(__file__).resolve().parents[2] / ".env"
"""Where the program keeps the keys that it was given."""


def read_environment(real: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the real environment over the `.env` beside main.py.

    `os.environ` itself stays as it is, so that no key reaches a program that is started from here. The `.env` of
    another current directory is not read: it could send a key of yours to an address of its own.
    """
    environ = _read(ROOT_FILE) if ROOT_FILE.is_file() else {}
    environ.update(os.environ if real is None else real)
    return environ


def _read(path: Path) -> dict[str, str]:
    from dotenv import dotenv_values

    try:
        values = dotenv_values(path, interpolate=False, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", "Make it a readable UTF-8 file.") from error
    return {name: value for name, value in values.items() if value}


def keep(name: str, value: str, path: Path | None = None) -> Path:
    """Write `NAME=value` to `.env`: the other lines stay, the file is replaced at once, only its owner may read it.

    A link is followed, so that a file kept elsewhere stays there. Raises `ConfigurationError`.
    """
    import tempfile

    path = (path or ROOT_FILE).resolve()
    if any(ord(c) < 32 for c in value) or "'" in value:
        raise ConfigurationError(f"The value of {name} holds characters that no key has.", "Paste it again.")
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in lines if line.partition("=")[0].removeprefix("export ").strip() != name]
        file, draft = tempfile.mkstemp(prefix=".env.", dir=path.parent)  # made with mode 0600
        try:
            with os.fdopen(file, "w", encoding="utf-8") as stream:
                stream.write("\n".join([*kept, f"{name}='{value}'"]) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be written: {error}.", f"Set {name} in the environment.") from error
    return path
