"""What the program itself is made of, which no work directory may hold: a block's files come back into that."""

from __future__ import annotations

from pathlib import Path

from utils.errors import ConfigurationError
from utils.settings import ROOT, Settings


def keep_apart(settings: Settings) -> None:
    """Refuse a work directory from which a block could change the program, its settings or the sessions it keeps.

    Raises `ConfigurationError`.
    """
    if settings.work_dir is None:
        return
    work_dir = settings.work_dir.resolve()
    for own in (ROOT, settings.data_dir, settings.prompts_dir, settings.models_file, settings.sandbox_file):
        if own.resolve().is_relative_to(work_dir):
            raise _refusal(work_dir, f"holds {own}")
    # A folder of one's own beside the program's code is none of it.
    if any(work_dir.is_relative_to(part) for part in _parts()):
        raise _refusal(work_dir, "is a part of the program")


def _parts() -> list[Path]:
    folders = [path for path in ROOT.iterdir() if path.is_dir()]
    return [path for path in folders if path.name.startswith(".") or any(path.glob("*.py"))]


def _refusal(work_dir: Path, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"The work directory {work_dir} {what}: what blocks write there could change the program.",
        "Name another with --work-dir DIR, such as a new folder.",
    )
