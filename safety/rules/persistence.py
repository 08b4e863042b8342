"""Persistence: what makes something run again later, or under a borrowed name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.python_program import Program
from safety.python_values import HOLE, words
from safety.rules.rule import Rule
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

SCHEDULE = Rule(
    "persistence.schedule",
    "deny",
    "persistence",
    "It has the machine run something later, unasked.",
    bad=(
        "#!bash\n(crontab -l; echo '* * * * * x') | crontab -",
        "#!bash\necho x | at now + 1 hour",
        "from crontab import CronTab\nCronTab(user=True)",
    ),
    good=("import sched, time\nsched.scheduler(time.time, time.sleep)",),
)
ALIAS = Rule(
    "persistence.alias",
    "deny",
    "persistence",
    "A familiar command comes to mean another one.",
    bad=("#!bash\nalias ls='rm -rf'", "#!bash\nsudo() { cat; }", "#!bash\nalias cd='echo'"),
    good=("#!bash\nalias ll='ls -l'", "#!bash\nalias grep='grep --color'", "#!bash\nstep() { echo; }"),
)
ACCOUNT = Rule(
    "persistence.accounts",
    "deny",
    "persistence",
    "It makes or changes accounts and their rights.",
    bad=("#!bash\nuseradd -m x", "#!bash\necho 'root:x' | chpasswd", "#!bash\nssh-keygen -f k && ssh-copy-id h"),
    good=("#!bash\necho useradd",),
)
HOOK = Rule(
    "persistence.hooks",
    "ask",
    "persistence",
    "It changes what a tool runs by itself from now on.",
    bad=(
        "#!bash\ngit config --global core.hooksPath /tmp/h",
        "#!bash\ngit config --global alias.st '!sh x'",
        "import winreg\nwinreg.OpenKey(1, 'Run')",
    ),
    good=("#!bash\ngit config user.name me",),
)
RULES = (SCHEDULE, ALIAS, ACCOUNT, HOOK)

_FAMILIAR = words(
    "ls cd cat cp mv rm ps su sudo ssh scp git passwd grep find kill top df du pwd echo vi vim nano "
    "python python3 pip pip3 apt apt-get make man less more mkdir rmdir touch chmod chown which env "
    "export source curl wget history exit logout clear ping tar bash sh docker kubectl npm node systemctl "
    "crontab date whoami id type command"
)
_ACCOUNTS = words(
    "useradd adduser usermod userdel deluser groupadd addgroup groupdel gpasswd passwd chpasswd chsh chfn "
    "visudo vipw vigr newusers ssh-copy-id chage"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        if call.name.startswith(("crontab.CronTab", "winreg.", "_winreg.")):
            rule = SCHEDULE if "CronTab" in call.name else HOOK
            yield rule.at(call.line, "changes what the machine runs by itself", call.column)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for name, node in script.functions.items():
        if name in _FAMILIAR - {"exit", "echo", "clear"}:
            yield ALIAS.at(node.start_point[0] + 1, f"puts a function in the place of {name}", node.start_point[1] + 1)
    for command in script.commands:
        yield from _command(command)


def _command(command: Command) -> Iterator[Finding]:
    name, line, column = command.name, command.line, command.column
    for operator, target in command.redirects:
        if (
            ">" in operator
            and re.search(r"(?:^|/)s?bin/[\w-]+$", target)
            and target.rsplit("/", 1)[-1] in _FAMILIAR | {"ssh"}
        ):
            yield ALIAS.at(line, f"puts a program in the place of {target.rsplit('/', 1)[-1]}", column)
    if name in ("crontab", "at", "batch", "systemd-run", "schtasks", "schtasks.exe", "fcrontab", "anacron"):
        listed = name == "crontab" and command.args == ("-l",)
        yield SCHEDULE.at(line, f"{name} has something run later", column, "ask" if listed else None)
    elif name == "alias":
        yield from _alias(command)
    elif name in _ACCOUNTS:
        yield ACCOUNT.at(line, f"{name} changes accounts", column)
    elif name == "git" and command.words[:1] == ("config",) and command.has("--global", "--system"):
        if re.search(
            r"alias\.|hooksPath|sshCommand|fsmonitor|pager|editor|credential|proxy|sslVerify|insteadOf|includeIf",
            " ".join(command.args),
        ):
            yield HOOK.at(line, "changes what git runs", column)
    elif name == "git" and re.search(
        r"core\.(?:hooksPath|fsmonitor|sshCommand)\b", " ".join(command.args), re.IGNORECASE
    ):
        yield HOOK.at(line, "has git run something of its own", column, "ask")
    elif name in ("npm", "yarn", "pnpm", "pip", "pip3", "conda") and command.words[:1] == ("config",):
        yield HOOK.at(line, f"changes the settings of {name}", column)
    elif name in ("enable", "hash", "complete", "trap") and name == "hash" and "-p" in command.args:
        yield ALIAS.at(line, "points a familiar command at another file", column)


def _alias(command: Command) -> Iterator[Finding]:
    for arg in command.args:
        name, equals, value = arg.partition("=")
        first = value.split()[0].rsplit("/", 1)[-1] if value.split() else ""
        plain = first == name and not re.search(r"[;&|`]|\$\(", value)
        if equals and not plain and (name in _FAMILIAR or name.startswith(HOLE)):
            yield ALIAS.at(command.line, f"makes {name} mean something else", command.column)
