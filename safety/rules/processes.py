"""Processes: listing, stopping and following others; commands known only at run time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import HOLE, Ref, Value, as_text, words
from safety.rules.rule import Rule
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

KILL = Rule(
    "processes.stop-others",
    "deny",
    "process control",
    "It stops processes that it did not start.",
    bad=(
        "import psutil\nfor p in psutil.process_iter():\n    p.kill()",
        "import os\nos.kill(1, 9)",
        "#!bash\npkill -f server",
        "#!bash\nkill -9 $(pgrep db)",
    ),
    good=(
        "import subprocess\np = subprocess.Popen(['sleep', '1'])\np.kill()",
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)",
        "#!bash\nsleep 9 &\nkill $!",
    ),
)
LIST = Rule(
    "processes.list",
    "ask",
    "process control",
    "It looks at what else runs on the machine, its connections and users.",
    bad=("import psutil\nprint(psutil.pids())", "#!bash\nps aux", "#!bash\nlsof -i"),
    good=("import psutil\nprint(psutil.Process().memory_info())", "#!bash\njobs"),
)
UNKNOWN_COMMAND = Rule(
    "processes.unknown-command",
    "ask",
    "process control",
    "Which program it starts is known only at run time.",
    bad=(
        "import subprocess, sys\nsubprocess.run(sys.argv[1], shell=True)",
        "import os\nos.system(input())",
        "#!bash\n$1 --now",
        '#!bash\neval "$(cat x)"',
    ),
    good=("import subprocess\nsubprocess.run(['git', 'status'])", "import os\nos.system('clear')"),
)
DETACH = Rule(
    "processes.outlives",
    "ask",
    "process control",
    "It is made to outlive the block; the sandbox ends it all the same.",
    bad=("import subprocess\nsubprocess.Popen(['sleep', '9'], start_new_session=True)", "#!bash\nnohup ./server &"),
    good=("import subprocess\nsubprocess.Popen(['sleep', '1']).wait()", "#!bash\n./step & wait"),
)
TRACE = Rule(
    "processes.trace",
    "deny",
    "process control",
    "It reads or changes the memory of other programs.",
    bad=("#!bash\ngdb -p 1", "#!bash\nstrace -p 123", "import frida\nfrida.attach('x')"),
    good=("#!bash\nstrace ./tool",),
)
SERVICE = Rule(
    "processes.services",
    "deny",
    "host",
    "It stops or changes the machine's services, or the machine itself.",
    bad=("#!bash\nsystemctl stop firewalld", "import os\nos.system('shut' + 'down -h now')"),
    good=("#!bash\necho systemctl",),
)
RULES = (KILL, LIST, UNKNOWN_COMMAND, DETACH, TRACE, SERVICE)

_OWN = re.compile(
    r"^(?:os\.(?:getpid|fork|forkpty|spawn\w+|posix_spawnp?)\(\)|subprocess\.Popen\(\)|multiprocessing\."
    r"|os\.getpgid\(\)|os\.getpgrp\(\)|asyncio\.|pexpect\.)"
)
_LISTERS = re.compile(
    r"^sys\._current_frames|^psutil\.(?:process_iter|pids|net_connections|users|pid_exists|Process\(\)\.(?:cmdline|environ"
    r"|open_files|connections|children)|win_service|test)"
)
_SHELL_RUNS = re.compile(
    r"^(?:os\.(?:system|popen)|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput))$"
)
_TYPED = re.compile(
    r"^(?:input\(\)|sys\.(?:argv|stdin)|flask\.request|.*\.recv\(\)|requests\.\w+\(\)|argparse\..*parse_args)"
)
RUNS = re.compile(
    r"^(?:os\.(?:system|popen|exec\w+|spawn\w+|posix_spawnp?)|subprocess\.(?:run|call|check_call"
    r"|check_output|Popen|getoutput|getstatusoutput)|commands\.get\w+|pty\.spawn"
    r"|asyncio\.create_subprocess_\w+|pexpect\.(?:spawn|run)|platform\.popen|popen2\.\w+)$"
)


def command_values(call: Call) -> tuple[Value, ...]:
    """What the command of a call that runs one may be."""
    place = 1 if re.match(r"^os\.(?:spawn|posix_spawn)", call.name) and "posix" not in call.name else 0
    return call.argument(place, "args", "cmd", "command")


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        yield from _call(call)
        line = call.node.args[0] if _SHELL_RUNS.match(call.name) and call.node.args else None
        if line is None or isinstance(line, (ast.List, ast.Tuple)):
            continue
        if any(HOLE in text for text in program.texts(command_values(call))) and typed(program, line):
            yield UNKNOWN_COMMAND.at(call.line, "puts what somebody types into a command line", call.column)


def typed(program: Program, expr: ast.expr, depth: int = 0) -> bool:
    """Whether what is typed or sent at run time goes into an expression, through a few names."""
    for node in ast.walk(expr):
        values = program.values(node) if isinstance(node, (ast.Name, ast.Call, ast.Subscript, ast.Attribute)) else ()
        if any(isinstance(value, Ref) and _TYPED.match(value.name) for value in values):
            return True
        if isinstance(node, ast.Name) and depth < 3:
            found = program.names.lookup(node.id, program.function(node))
            for bind in (found[1] if found else ())[:4]:
                if bind.expr is not None and bind.expr is not expr and typed(program, bind.expr, depth + 1):
                    return True
    return False


def _call(call: Call) -> Iterator[Finding]:
    name, line, column = call.name, call.line, call.column
    if name in ("os.kill", "os.killpg", "signal.pidfd_send_signal"):
        own = [isinstance(value, Ref) and bool(_OWN.match(value.name)) for value in call.argument(0, "pid")]
        harmless = any(value == 0 and not isinstance(value, bool) for value in call.argument(1, "sig"))
        if not all(own) or "getppid" in ast.unparse(call.node):
            known = any(isinstance(value, int) for value in call.argument(0, "pid"))
            yield KILL.at(
                line, "signals a process that it may not have started", column, "ask" if harmless or not known else None
            )
    elif re.search(r"\bpsutil\b.*\.(?:kill|terminate|suspend|send_signal|nice|resume)$", name):
        yield KILL.at(line, "stops or changes other processes", column)
    elif _LISTERS.match(name):
        yield LIST.at(line, "lists the machine's processes, users or connections", column)
    elif name in ("os.setsid", "os.daemon") or name.startswith(("daemon.DaemonContext", "daemonize.")):
        yield DETACH.at(line, "leaves its session, to go on in the background", column)
    elif name.startswith(
        ("frida.", "pwn.", "pymem.", "ptrace.", "lldb.", "pyrasite.", "hypno.", "pydbg.", "winappdbg.")
    ):
        yield TRACE.at(line, "attaches to other programs", column)
    elif name == "multiprocessing.shared_memory.SharedMemory" and not any(
        value is True for value in call.argument(1, "create")
    ):
        yield TRACE.at(line, "opens memory that another program made", column, "ask")
    elif name == "pty.spawn":
        yield UNKNOWN_COMMAND.at(line, "opens a shell for somebody to type into", column)
    elif RUNS.match(name):
        yield from _run(call)


def _run(call: Call) -> Iterator[Finding]:
    if any(value is True for value in call.keywords.get("start_new_session", ())) or any(
        isinstance(v, Ref) and v.name == "os.setsid" for v in call.keywords.get("preexec_fn", ())
    ):
        yield DETACH.at(call.line, "starts a process in a session of its own", call.column)
    for value in command_values(call):
        first = value[0] if isinstance(value, tuple) and value else value
        if as_text(first).lstrip().startswith(HOLE) or (isinstance(first, tuple) and not first):
            yield UNKNOWN_COMMAND.at(call.line, "runs a command that is known only at run time", call.column)
            return


_SHELL_LIST = words(
    "ps top htop pgrep pidof lsof netstat ss fuser pstree who w last lastb users lastlog vmstat iotop "
    "nethogs iftop systemd-cgls pidstat glances atop btop bpytop tload"
)
_SERVICE = words(
    "systemctl service shutdown reboot halt poweroff telinit init rc-service initctl launchctl chkconfig "
    "update-rc.d sc.exe net.exe loginctl"
)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        yield from _shell_command(script, command)


def _shell_command(script: Script, command: Command) -> Iterator[Finding]:
    name, line, column = command.name, command.line, command.column
    if name == "kill":
        yield from _kill(command)
    elif name in ("pkill", "killall", "skill", "xkill", "killall5", "slay"):
        yield KILL.at(line, f"{name} stops processes by name", column)
    elif name in _SHELL_LIST:
        yield LIST.at(line, f"{name} looks at what else runs on the machine", column)
    elif name in _SERVICE:
        quiet = name in ("systemctl", "service") and any(
            word in ("status", "list-units", "is-active", "--status-all") for word in command.args
        )
        yield SERVICE.at(line, f"{name} changes the machine's services or power", column, "ask" if quiet else None)
    elif name in ("nohup", "setsid", "disown", "screen", "tmux", "daemonize", "at", "batch") and name not in (
        "at",
        "batch",
    ):
        yield DETACH.at(line, f"{name} lets it outlive the block", column)
    elif (name in ("gdb", "strace", "ltrace", "gcore") and command.has("-p", "--pid")) or name in ("gcore", "reptyr"):
        yield TRACE.at(line, f"{name} attaches to another program", column)
    elif _elsewhere(script, name) or (name in ("source", ".") and command.args and _elsewhere(script, command.args[0])):
        yield UNKNOWN_COMMAND.at(line, "runs a program that is not made here", column)
    elif name.startswith(HOLE) and name not in script.functions and not _is_itself(script, command):
        yield UNKNOWN_COMMAND.at(line, "runs a command that is known only at run time", column)
    elif name == "eval" and (not command.args or HOLE in " ".join(command.args)):
        yield UNKNOWN_COMMAND.at(line, "evaluates text that is known only at run time", column)
    elif name in ("bash", "sh", "zsh", "dash") and "-c" in command.args:
        text = command.args[command.args.index("-c") + 1 :][:1]
        if text and (HOLE in text[0] or text[0].strip() == "{}"):
            yield UNKNOWN_COMMAND.at(line, "runs a command that is known only at run time", column)


def _is_itself(script: Script, command: Command) -> bool:
    """Whether the command is the script (`"$0" again`); that it starts itself without an end, others look for."""
    rest = script.lines[command.line - 1][:2000] if 0 < command.line <= len(script.lines) else ""
    return re.search(r"(?:^|[\s;&|({])[\"']?\$\{?(?:0|BASH_SOURCE)", rest) is not None and rest.count("$") < 8


def _elsewhere(script: Script, path: str) -> bool:
    """Whether a program lies in a scratch place and the script does not make it."""
    if not path.startswith(("/tmp/", "~/", "/var/tmp/", "/dev/shm/")) or HOLE in path:
        return False
    return script.code.count(path.rsplit("/", 1)[-1]) < 2


def _kill(command: Command) -> Iterator[Finding]:
    words = [arg for arg in command.args if not re.match(r"^-(?:\d|[A-Z]|s$|l$|n$)", arg) and arg not in ("-1",)]
    if "-l" in command.args or "-0" in command.args:
        return
    everyone = "-1" in command.args[1:]
    for word in words:
        if word.startswith("%") or word in ("TERM", "KILL", "INT", "HUP", "SIGTERM", "SIGKILL", "--"):
            continue
        yield KILL.at(command.line, "stops a process that it may not have started", command.column)
        return
    if everyone:
        yield KILL.at(command.line, "stops every process that it can", command.column)
