"""Resource exhaustion, in shell scripts: the rules of `resources`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from safety.rules.allocations import HUGE, MAX_BYTES
from safety.rules.loops import ENDLESS, FORK_BOMB
from safety.rules.recursion import RECURSION
from safety.shell_command import Command
from safety.shell_folding import is_endless
from safety.shell_script import Script
from safety.verdicts import Finding

_SIZE = re.compile(r"^(\d+)([kKMGTP]?)i?[bB]?$")


def _size(text: str) -> int:
    found = _SIZE.match(text)
    return int(found[1]) * 1024 ** " kmgtp".index(found[2].lower() or " ") if found and len(found[1]) < 20 else 0


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    own = {
        command.name
        for command in script.commands
        if command.name in script.functions
        and command.function == command.name
        and (command.background or command.before)
    }
    for name in own:
        yield FORK_BOMB.at(script.functions[name].start_point[0] + 1, f"{name} starts itself in the background")
    for command in script.commands:
        again = _AGAIN.match(_source(script, command))
        if again and (command.background or command.before is not None or command.loops):
            yield FORK_BOMB.at(command.line, "starts itself again beside itself", command.column)
        if command.background and "for" in command.loops[:1] and _MANY.search(script.code[:20_000]):
            yield FORK_BOMB.at(command.line, "starts thousands of processes beside each other", command.column)
    leaving = {"break", "return", "exit", "read", "wait", "kill", "exec", "inotifywait"}
    endless = [command for command in script.commands if command.loops[:1] == ("endless",)]
    if (
        endless
        and not any(command.name in leaving for command in endless)
        and not any(command.name in leaving for command in script.commands if "endless" in command.loops)
    ):
        forks = any(command.background for command in endless)
        yield (FORK_BOMB if forks else ENDLESS).at(endless[0].line, "a loop with no way out", endless[0].column)
    for loop in script.loops:
        text = script.text(loop)[:4000]
        idle = is_endless(text) and not _LEAVES.search(text) and _holds_no_command(loop)
        if idle or _never_ends(text) or _BUSY.match(text):
            yield ENDLESS.at(loop.start_point[0] + 1, "a loop whose condition never changes", loop.start_point[1] + 1)
    yield from _recursion(script)
    for command in script.commands:
        yield from _shell_huge(command)


_BUSY = re.compile(r"\s*(?:while|until)\s[^\n;]{1,200}[;\n]\s*do\s*[;\n]?\s*(?::|true)\s*[;\n]\s*done\b")
"""It waits for something without a pause, and nothing in it can make that happen."""
_MANY = re.compile(r"\bseq\s+(?:\d+\s+)?\d{4,}\b|\.\.\d{4,}\}|<=?\s*\d{4,}\s*;")
_AGAIN = re.compile(r"(?:(?:ba|da|z|k)?sh\s+|\.\s+|source\s+|exec\s+)?[\"']?\$\{?(?:0\b|BASH_SOURCE)")


def _source(script: Script, command: Command) -> str:
    return script.lines[command.line - 1][command.column - 1 :][:80] if 0 < command.line <= len(script.lines) else ""


def _holds_no_command(loop: Node) -> bool:
    body = loop.child_by_field_name("body")
    return body is not None and all(child.type == "variable_assignment" for child in body.named_children)


_CONDITION = re.compile(
    r"^\s*(while|until)\s+(?:\[\[?|test|\(\()\s*[\"']?\$?\{?(\w+)\}?[\"']?\s*(-lt|-le|-gt|-ge|-ne|-eq|<=?|>=?|!=|==)"
    r"\s*[\"']?(\$?\{?\w+\}?)[\"']?\s*(?:\]\]?|\)\))?\s*(?:;|\n)"
)
_COUNTED = re.compile(r"^\s*for\s*\(\(\s*(\w+)\s*=[^;]*;\s*\1\s*([<>])=?[^;]*;\s*\1\s*([+-])(?:\3|=)")
_LEAVES = re.compile(r"\b(?:break|return|exit|exec|read|wait|kill)\b")
_WANTS = {"-lt": "up", "-le": "up", "<": "up", "<=": "up", "-gt": "down", "-ge": "down", ">": "down", ">=": "down"}


_OTHERWISE = {"-eq": "-ne", "==": "!=", "-lt": "-ge", "-ge": "-lt", "-gt": "-le", "-le": "-gt", "<": ">=", ">": "<="}


def _never_ends(text: str) -> bool:
    """Whether a counting loop counts the wrong way, or not at all."""
    counted = _COUNTED.match(text)
    if counted is not None:
        return (counted[2] == "<") == (counted[3] == "-") and not _LEAVES.search(text[counted.end() :])
    found = _CONDITION.match(text)
    if found is None or _LEAVES.search(text[found.end() :]):
        return False
    word, name, operator, bound = found.groups()
    body = text[found.end() :]
    if name.isdigit():
        same = bound == name and operator in ("-eq", "==", "-le", "-ge", "<=", ">=")
        return word == "while" and same
    up = rf"\b{name}\s*\+\+|\+\+\s*{name}\b|\b{name}\s*\+=|\b{name}=[^\n]*?\$?\{{?{name}\}}?\s*\+"
    down = rf"\b{name}\s*--|--\s*{name}\b|\b{name}\s*-=|\b{name}=[^\n]*?\$?\{{?{name}\}}?\s*-"
    goes_up, goes_down = re.search(up, body) is not None, re.search(down, body) is not None
    if not goes_up and not goes_down:
        set_there = re.search(rf"\b(?:{name}=|(?:let|local|declare|printf -v|mapfile|readarray|getopts|shift)\b)", body)
        return set_there is None and re.fullmatch(r"\d+", bound) is not None and f"(({name}" not in body
    if word == "until":
        operator = _OTHERWISE.get(operator, "")
    wanted = "down" if operator in ("-ne", "!=") and bound == "0" else _WANTS.get(operator)
    if wanted is None or goes_up == goes_down:
        return False
    return wanted == ("down" if goes_up else "up")


def _recursion(script: Script) -> Iterator[Finding]:
    certain = {name: set(_first_calls(script, node)) for name, node in script.functions.items()}
    for name, called in certain.items():
        if name in called or any(name in certain.get(other, ()) for other in called):
            line = script.functions[name].start_point[0] + 1
            yield RECURSION.at(line, f"{name} calls itself without an end")


def _first_calls(script: Script, function: Node) -> Iterator[str]:
    """The commands that a function runs before anything could end it."""
    body = function.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        if child.type in ("if_statement", "case_statement", "list", "test_command", "while_statement"):
            return
        if child.type == "command":
            name = script.text(child).split()[0]
            if name in ("return", "exit", "exec"):
                return
            yield name


def _shell_huge(command: Command) -> Iterator[Finding]:
    name, line, column = command.name, command.line, command.column
    sizes = [_size(arg) for arg in command.args]
    if name in ("fallocate", "truncate", "head") and max(sizes, default=0) >= MAX_BYTES:
        yield HUGE.at(line, f"{name} asks for more than the sandbox has", column)
    elif name == "dd":
        values = dict(arg.split("=", 1) for arg in command.args if "=" in arg)
        endless = "count" not in values and values.get("if") in ("/dev/zero", "/dev/urandom", "/dev/random")
        total = _size(values.get("bs", "512")) * _size(values.get("count", "1"))
        if endless or total >= MAX_BYTES:
            yield HUGE.at(line, "dd writes more than the sandbox has", column)
    elif name in ("yes", "cat") and any(
        ">" in operator and target not in ("/dev/null", "1", "2") for operator, target in command.redirects
    ):
        if name == "yes" or any(arg in ("/dev/zero", "/dev/urandom", "/dev/random") for arg in command.args):
            yield HUGE.at(line, "writes without an end", column)
    elif _waits(command) or _is_endless_source(command):
        yield ENDLESS.at(line, f"{name} never comes to an end", column)
    elif name == "yes" and command.background:
        yield ENDLESS.at(line, "yes goes on without an end", column)
    elif (
        command.before is not None and name not in ("head", "dd", "sed", "read") and _is_endless_source(command.before)
    ):
        yield ENDLESS.at(line, f"{name} is fed without an end", column)
    elif name in ("tail", "sort", "tac", "grep", "md5sum", "sha256sum", "wc", "gzip") and (
        "/dev/zero" in command.args or "/dev/urandom" in command.args
    ):
        yield HUGE.at(line, "reads without an end", column)
    elif name in ("stress", "stress-ng", "memtester", "sysbench", "fio", "cpuburn"):
        yield HUGE.at(line, f"{name} wears the machine out", column)
    elif name in ("seq",) and any(arg.isdigit() and int(arg) >= 10**9 for arg in command.args if len(arg) < 30):
        yield HUGE.at(line, "counts further than the time limit allows", column)


def _waits(command: Command) -> bool:
    """Whether a command is made to go on for ever."""
    if command.name == "tail":
        return command.has("-f", "-F", "--follow") and not command.background
    return command.name == "sleep" and command.args == ("infinity",)


def _is_endless_source(command: Command) -> bool:
    devices = ("/dev/zero", "/dev/urandom", "/dev/random")
    return command.name == "cat" and any(arg in devices for arg in command.args)
