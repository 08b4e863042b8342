"""Resource exhaustion, in shell scripts: the rules of `resources`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.rules.allocations import HUGE, MAX_BYTES
from safety.rules.loops import ENDLESS, FORK_BOMB
from safety.shell_script import Command, Script
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
    leaving = {"break", "return", "exit", "sleep", "read", "wait", "kill", "exec", "inotifywait"}
    endless = [command for command in script.commands if command.loops[:1] == ("endless",)]
    if (
        endless
        and not any(command.name in leaving for command in endless)
        and not any(command.name in leaving for command in script.commands if "endless" in command.loops)
    ):
        forks = any(command.background for command in endless)
        yield (FORK_BOMB if forks else ENDLESS).at(endless[0].line, "a loop with no way out", endless[0].column)
    for command in script.commands:
        yield from _shell_huge(command)


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
    elif name in ("tail", "sort", "tac", "grep") and "/dev/zero" in command.args:
        yield HUGE.at(line, "reads without an end", column)
    elif name in ("stress", "stress-ng", "memtester", "sysbench", "fio", "cpuburn"):
        yield HUGE.at(line, f"{name} wears the machine out", column)
    elif name in ("seq",) and any(arg.isdigit() and int(arg) >= 10**9 for arg in command.args if len(arg) < 30):
        yield HUGE.at(line, "counts further than the time limit allows", column)
