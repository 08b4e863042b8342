"""Settings from a YAML file, with errors that name the file, the line and the key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from utils.errors import ConfigurationError
from utils.settings import ROOT

T = TypeVar("T", bound=BaseModel)

Lines = dict[tuple[str, ...], int]
"""Line of each key, from 1, by the path that leads to it."""


def read_settings(path: Path, model: type[T]) -> T:
    """Read a YAML file into a pydantic model.

    Raises `ConfigurationError` of one line: file, line, key, what to do; what else is wrong stands in its `others`.
    """
    text = _read(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines = dict(_lines(node, (), path)) if node is not None else {}
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark is not None else ""
        raise ConfigurationError(
            f"{path}{line} is not valid YAML: {error.problem or error.context}.", "Mend that line."
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigurationError(f"{path} is not valid YAML: {str(error).splitlines()[0]}.", "Mend it.") from error
    try:
        return model.model_validate({} if data is None else data)
    except ValidationError as error:
        raise _explain(error, path, lines, model) from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        own = "Put it back, from the project's repository." if path.parent == ROOT else "Is that the right path?"
        raise ConfigurationError(f"{path} is missing.", own) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", "Make it a readable UTF-8 file.") from error


def _lines(node: yaml.Node, path: tuple[str, ...], file: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            line = key.start_mark.line + 1
            if name in seen and name != "<<":
                raise ConfigurationError(f"{file}:{line}: the key '{name}' is there twice.", "Keep one of them.")
            seen.add(name)
            yield (*path, name), line
            yield from _lines(value, (*path, name), file)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*path, str(index)), value.start_mark.line + 1
            yield from _lines(value, (*path, str(index)), file)


def _explain(error: ValidationError, path: Path, lines: Lines, model: type[BaseModel]) -> ConfigurationError:
    """All that is wrong, in the order of the file."""
    found = [_problem(one, path, lines, model) for one in error.errors(include_url=False)]
    # A misspelt key shows twice: as unknown, and as missing. The first tells more.
    meant = {problem.meant for problem in found if problem.meant}
    found = sorted((one for one in found if one.missing not in meant), key=lambda one: one.line)
    first, *others = (ConfigurationError(problem.message, problem.hint) for problem in found)
    return ConfigurationError(first.message, first.hint, others=others)


@dataclass(frozen=True)
class _Problem:
    line: int
    message: str
    hint: str
    meant: tuple[str, ...] = ()
    """For an unknown key: the known one that it is nearly."""
    missing: tuple[str, ...] = ()
    """For a key that is not there: its path."""


def _problem(one: ErrorDetails, path: Path, lines: Lines, model: type[BaseModel]) -> _Problem:
    place = tuple(str(part) for part in one["loc"] if part != "[key]")
    line = next((lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines), 0)
    where = f"{path}:{line}" if line else str(path)
    key = ".".join(place)
    if one["type"] == "extra_forbidden":
        known = _keys(model, place[:-1])
        close = difflib.get_close_matches(place[-1], known, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"Known keys: {', '.join(known)}."
        return _Problem(line, f"{where}: unknown key '{key}'.", hint, meant=(*place[:-1], *close) if close else ())
    reason = _reason(one)
    if not key:
        # About several keys at once: the first of those that the file has.
        line = min((lines[name,] for name in re.findall(r"\w+", reason) if (name,) in lines), default=0)
        where = f"{path}:{line}" if line else str(path)
        return _Problem(line, f"{where}: {reason}.", "See the comments in the file as it was shipped.")
    if one["type"] == "missing":
        return _Problem(line, f"{where}: '{key}' is missing.", "Add it.", missing=place)
    return _Problem(line, f"{where}: '{key}': {reason}.", "Mend that line.")


def _reason(one: ErrorDetails) -> str:
    """What is wrong, in words of the file where pydantic's are of Python."""
    if one["type"] in ("tuple_type", "list_type"):
        return "a list is needed, such as [a, b]"
    if one["type"] in ("model_type", "dict_type", "model_attributes_type"):
        return f"keys with values are needed{' below it' if one['loc'] else ', such as `name: value`'}"
    return str(one["msg"]).removeprefix("Value error, ")


def _keys(model: type[BaseModel], place: tuple[str, ...]) -> list[str]:
    """Known keys where `place` leads: through fields, and through mappings by name."""
    current: Any = model
    for part in place:
        fields = getattr(current, "model_fields", {})
        current = fields[part].annotation if part in fields else (get_args(current) or (None,))[-1]
    return sorted(getattr(current, "model_fields", ()))
