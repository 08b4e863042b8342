"""From arguments to settings: defaults from the environment, and everything that can be checked at once is."""

from __future__ import annotations

import argparse
import filecmp
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from interfaces.terminal.own_files import keep_apart
from utils.errors import ConfigurationError
from utils.settings import Settings

PREFIX = "ROUNDTABLE_"
"""Of the variables that stand in for options: MODEL, ASK, DATA_DIR, LOG_FILE."""

_PLAIN = ("model", "fallback", "ask", "retries", "max_turns", "max_tokens", "max_cost", "kernel", "i_know")


def make_settings(args: argparse.Namespace, environ: Mapping[str, str]) -> Settings:
    """Build the settings of a run. Makes the data directory. Raises `ConfigurationError` of one line."""
    values: dict[str, Any] = {name: getattr(args, name) for name in _PLAIN if getattr(args, name) is not None}
    for name in ("model", "ask"):
        given = environ.get(f"{PREFIX}{name.upper()}", "").strip()
        if given and name not in values:
            values[name] = given
    for name in ("models_file", "sandbox_file", "prompts_dir"):
        if getattr(args, name):
            values[name] = Path(getattr(args, name)).expanduser().absolute()
    if args.work_dir:
        values["work_dir"] = _directory(args.work_dir)
    values["files"] = _distinct([_readable(text) for text in args.files])
    if args.work_dir:
        _keep_own(values["files"], values["work_dir"])
    values["data_dir"] = data_dir(args, environ)
    try:
        settings = Settings(agent_models=dict(args.model_for), environ=dict(environ), **values)
    except ValidationError as error:
        raise _explain(error) from error
    _check_agents(settings)
    keep_apart(settings)
    return settings


def _check_agents(settings: Settings) -> None:
    """Refuse a model for an agent that there is not. An agent that has a model has a prompt of its name."""
    names = sorted(path.stem for path in settings.prompts_dir.glob("*.md"))
    unknown = [agent for agent in settings.agent_models if agent not in names]
    if names and unknown:
        raise ConfigurationError(
            f"--model-for: there is no agent '{unknown[0]}' that has a model.", f"There are: {', '.join(names)}."
        )


def data_dir(args: argparse.Namespace, environ: Mapping[str, str]) -> Path:
    """Return the data directory, made where it was missing, readable by its owner alone."""
    text = args.data_dir or environ.get(f"{PREFIX}DATA_DIR", "").strip()
    if text:
        path = Path(text).expanduser().absolute()
    else:
        from platformdirs import user_data_path

        path = user_data_path("roundtable", appauthor=False)
    hint = "Name another with --data-dir DIR."
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"The data directory {path} cannot be made: {_reason(error)}.", hint) from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigurationError(f"The data directory {path} cannot be written.", hint)
    return path


def log_file(args: argparse.Namespace, environ: Mapping[str, str]) -> Path | None:
    """Return the file that the user wants a log in, if any."""
    text = args.log_file or environ.get(f"{PREFIX}LOG_FILE", "").strip()
    return Path(text).expanduser().absolute() if text else None


def _directory(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    try:
        if not path.is_dir():
            what = "is not a directory" if path.exists() else "does not exist"
            raise ConfigurationError(f"The work directory {path} {what}.", "Name one that does with --work-dir DIR.")
        os.scandir(path).close()
    except OSError as error:
        raise ConfigurationError(
            f"The work directory {path} cannot be read: {_reason(error)}.", "Name another with --work-dir DIR."
        ) from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigurationError(
            f"The work directory {path} cannot be read and written.", "Name another with --work-dir DIR."
        )
    return path


def _readable(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    try:
        if path.is_dir():
            os.scandir(path).close()
        elif path.is_file():
            path.open("rb").close()
        else:
            what = "is neither a file nor a folder" if path.exists() else "does not exist"
            raise ConfigurationError(f"{path} {what}.", "Look at what stands after --files.")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {_reason(error)}.", "See --files.") from error
    return path


def _distinct(paths: list[Path]) -> tuple[Path, ...]:
    """The paths, each once. Raises `ConfigurationError` for two of one name, of which only one would be there."""
    by_name: dict[str, Path] = {}
    for path in paths:
        other = by_name.setdefault(path.name, path)
        if not other.samefile(path):
            raise ConfigurationError(
                f"{other} and {path} would both be {path.name} in the workspace.", "Rename one, or leave it out."
            )
    return tuple(by_name.values())


def _keep_own(files: tuple[Path, ...], work_dir: Path) -> None:
    """Refuse to put a file over another one of the user's: the work directory is theirs, too."""
    for path in files:
        for source in [path] if path.is_file() else sorted(path.rglob("*")):
            target = work_dir / source.relative_to(path.parent)
            if target.is_file() and source.is_file() and not _is_alike(source, target):
                raise ConfigurationError(
                    f"{target} is there already, and is another file than {source}.",
                    "Rename one of them, or leave it out of --files.",
                )


def _is_alike(source: Path, target: Path) -> bool:
    try:
        return source.samefile(target) or filecmp.cmp(source, target, shallow=False)
    except OSError:
        return True  # it cannot be read, so it is not copied either, and is told


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _explain(error: ValidationError) -> ConfigurationError:
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0])
    message = str(first["msg"])[:1].lower() + str(first["msg"])[1:]
    source = f" (or {PREFIX}{name.upper()})" if name in ("model", "ask") else ""
    return ConfigurationError(f"--{name.replace('_', '-')}{source}: {message}.", "See python main.py --help.")
