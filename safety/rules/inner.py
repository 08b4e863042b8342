"""Code inside code: shell text that a program runs, programs that a shell line holds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from safety.python_program import Call, Program
from safety.python_values import HOLE, Ref, Value, as_text
from safety.rules.processes import command_values
from safety.shell_command import Command
from safety.shell_folding import pipeline
from safety.shell_script import Script

_RUN = re.compile(
    r"^(?:os\.(?:system|popen)|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput"
    r"|getstatusoutput)|commands\.\w+|asyncio\.create_subprocess_(?:shell|exec)|pexpect\.(?:spawn|run)"
    r"|pty\.spawn|os\.posix_spawnp?|popen2\.\w+|IPython\.get_ipython\(\)\.(?:system|getoutput)"
    r"|get_ipython\(\)\.system|sh\.\w+)$"
)
_EXEC = re.compile(r"^os\.(?:exec|spawn)([lv])p?e?$")
_EVAL = re.compile(r"^(?:eval|exec|compile|ast\.parse|code\.\w+\(\)\.(?:runsource|push)|timeit\.(?:timeit|repeat))$")


@dataclass(frozen=True)
class Inner:
    """A piece of code that a block runs."""

    language: str
    code: str
    line: int
    """Where in the outer block."""
    evaluated: bool = False
    """A text that Python itself runs as code."""


def python(program: Program) -> Iterator[Inner]:
    """What a Python program runs of other code."""
    for call in program.calls:
        yield from _python_call(call)


def _python_call(call: Call) -> Iterator[Inner]:
    if _EVAL.match(call.name):
        for value in call.argument(0, "source", "stmt"):
            if isinstance(value, (str, bytes)) and HOLE not in as_text(value) and value:
                yield Inner(
                    "python", as_text(value).strip() if call.name == "eval" else as_text(value), call.line, True
                )
    elif _RUN.match(call.name):
        if call.name == "asyncio.create_subprocess_exec" or (call.name.startswith("pty.") and len(call.args) > 1):
            yield Inner("bash", _joined(tuple(values[0] for values in call.args)), call.line)
            return
        for value in command_values(call):
            for text in _shell_text(value):
                yield Inner("bash", text, call.line)
        for value in call.keywords.get("input", ()):
            if isinstance(value, (str, bytes)) and any(
                re.search(r"(?:^|/)(?:ba|z|da)?sh$|python", text.split()[0] if text.split() else "")
                for v in command_values(call)
                for text in _shell_text(v)
            ):
                yield Inner("bash", as_text(value), call.line)
    elif _EXEC.match(call.name):
        shift = 1 if "spawn" in call.name else 0
        if "l" in call.name.split(".")[1][4:7]:
            yield Inner(
                "bash", _joined((call.argument(shift)[0], *(values[0] for values in call.args[shift + 2 :]))), call.line
            )
        else:
            for value in call.argument(shift + 1, "args"):
                if isinstance(value, tuple):
                    yield Inner("bash", _joined((call.argument(shift)[0], *value[1:])), call.line)
    elif (
        call.name.endswith((".write", ".writelines", ".write_text"))
        and isinstance(call.receiver, Ref)
        and call.receiver.text
    ):
        language = _language_of(call.receiver.text)
        for value in call.argument(0, "data"):
            if language and isinstance(value, str) and value.count("\n") + value.count(";") > 0:
                yield Inner(language, value, call.line)


def _language_of(path: str) -> str:
    if path.endswith((".py", ".pyw")):
        return "python"
    return "bash" if path.endswith((".sh", ".bash")) else ""


def _language_of_first_line(text: str) -> str:
    found = re.match(r"#!\s*/\S*?(?:/env\s+)?(?:\S*/)?((?:ba|da|z|k)?sh|python)[\d.]*\b", text[:200])
    return "" if found is None else "python" if found[1] == "python" else "bash"


def _shell_text(value: Value) -> Iterator[str]:
    if isinstance(value, tuple):
        if value:
            yield _joined(value)
    elif isinstance(value, (str, bytes)) and as_text(value).strip():
        yield as_text(value)


def _joined(parts: tuple[Value, ...]) -> str:
    return " ".join(HOLE if as_text(part) == HOLE else shlex.quote(as_text(part)) for part in parts)


_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash"])


def shell(script: Script) -> Iterator[Inner]:
    """What a shell script runs of other code."""
    for command in script.commands:
        yield from _shell_command(command)


def _shell_command(command: Command) -> Iterator[Inner]:
    name, args, line = command.name, command.args, command.line
    language = "bash" if name in _SHELLS else "python" if re.fullmatch(r"python[\d.]*|ipython3?", name) else ""
    if name == "eval" and args:
        text = " ".join(args)
        if HOLE not in text:
            yield Inner("bash", text, line)
    elif name == "trap" and args and not args[0].startswith("-"):
        yield Inner("bash", args[0], line)
    elif name == "alias":
        for arg in args:
            if "=" in arg:
                yield Inner("bash", arg.split("=", 1)[1], line)
    elif language:
        flag = next((place for place, arg in enumerate(args) if re.fullmatch(r"-[a-zA-Z]*c", arg)), None)
        if flag is not None and flag + 1 < len(args):
            if not args[flag + 1].startswith(HOLE):
                yield Inner(language, args[flag + 1], line)
        elif not command.words or command.words == ("-",) or "-s" in args:
            if command.body is not None:
                yield Inner(language, command.body, line)
            elif command.before is not None:
                text = _piped(command)
                if text and HOLE not in text:
                    yield Inner(language, text, line)
    if name in ("cat", "tee", "echo", "printf") and any(">" in operator for operator, _ in command.redirects):
        text = command.body if command.body is not None else " ".join(args)
        for _, target in command.redirects:
            written = _language_of(target) or _language_of_first_line(text)
            if written and ("\n" in text or command.body is not None) and text.strip():
                yield Inner(written, text, line)


def _piped(command: Command) -> str:
    stages: list[list[str]] = []
    at = command.before
    for _ in range(16):
        if at is None:
            break
        stages.insert(0, [at.name, *at.args])
        if at.name == "cat" and at.body is not None:
            return at.body
        at = at.before
    return pipeline(stages)
