"""Environment: variables that are shown whole, hold secrets, or change what other programs do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.paths import is_outside
from safety.python_program import Program
from safety.python_values import HOLE, Ref, as_text
from safety.rules.rule import Rule
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

DUMP = Rule(
    "environment.dump",
    "ask",
    "environment",
    "All variables together hold keys and tokens of whoever started the program.",
    bad=(
        "import os\nprint(os.environ)",
        "import os\nfor k, v in os.environ.items():\n    print(k, v)",
        "#!bash\nenv | sort",
        "#!bash\nprintenv",
    ),
    good=("import os\nprint(os.environ.get('LANG', 'C'))", "#!bash\nenv LC_ALL=C sort a.txt"),
)
SECRET = Rule(
    "environment.secret",
    "ask",
    "credentials",
    "A variable of that name holds a key or password.",
    bad=(
        "import os\nos.getenv('AWS_SECRET_' + 'ACCESS_KEY')",
        "import os\nos.environ['DB_PASSWORD']",
        '#!bash\necho "$GITHUB_TOKEN"',
    ),
    good=("import os\nos.getenv('HOME')", "#!bash\nTOKEN=a\necho $TOKEN"),
)
STEER = Rule(
    "environment.steer",
    "ask",
    "environment",
    "That variable decides which programs or libraries are loaded from then on.",
    bad=(
        "import os\nos.environ['PATH'] = '/tmp/x:' + os.environ['PATH']",
        "#!bash\nexport PATH=/tmp/x:$PATH",
        "#!bash\nPYTHONPATH=/tmp/x python3 a.py",
    ),
    good=("import os\nos.environ['OMP_NUM_THREADS'] = '1'", "#!bash\nexport LC_ALL=C"),
)
PRELOAD = Rule(
    "environment.preload",
    "deny",
    "environment",
    "It puts a library or script into every program that starts.",
    bad=(
        "#!bash\nexport LD_PRELOAD=./x.so",
        "import os\nos.environ['PROMPT_COMMAND'] = 'x'",
        "#!bash\nexport BASH_ENV=./x",
    ),
    good=("#!bash\nexport X=1",),
)
RULES = (DUMP, SECRET, STEER, PRELOAD)

_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?|AUTH|PRIVATE|COOKIE"
    r"|DSN)(?:_|$|S$|\d)|SECRET|PASSWORD|APIKEY|ACCESS_KEY|SSH_AUTH_SOCK",
    re.IGNORECASE,
)
_STEER = {
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "LD_LIBRARY_PATH",
    "PERL5LIB",
    "NODE_PATH",
    "SHELL",
    "EDITOR",
    "BROWSER",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "ftp_proxy",
    "FTP_PROXY",
    "no_proxy",
    "NO_PROXY",
    "PYTHONHTTPSVERIFY",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HOME",
    "SUDO_ASKPASS",
    "CLASSPATH",
    "RUBYLIB",
}
_PRELOAD = {
    "LD_PRELOAD",
    "LD_AUDIT",
    "PROMPT_COMMAND",
    "BASH_ENV",
    "ENV",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PERL5OPT",
    "NODE_OPTIONS",
    "DYLD_INSERT_LIBRARIES",
    "PS0",
    "PYTHONWARNINGS",
    "RUBYOPT",
}


def _is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and name not in ("PWD", "OLDPWD", "XAUTHORITY", "PYTHONHASHSEED", "KEYBOARD")


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        name = call.name
        if re.match(r"^os\.(?:environb?\.(?:get|pop|setdefault|__getitem__)|getenvb?)$", name):
            for text in program.texts(call.argument(0, "key")):
                if _is_secret(text):
                    yield SECRET.at(call.line, f"reads the variable {text[:60]}", call.column)
                elif name.endswith("setdefault"):
                    yield from _set(text, call.line, call.column)
        elif re.match(r"^os\.environb?\.(?:items|values|keys|__str__|__repr__)$", name):
            yield DUMP.at(call.line, "goes through all environment variables", call.column)
        elif name in ("os.environ.clear", "os.clearenv"):
            yield STEER.at(call.line, "takes all variables away from what it starts", call.column)
        elif name in ("os.unsetenv", "os.putenv", "os.environ.__setitem__"):
            for text in program.texts(call.argument(0)):
                yield from _set(text, call.line, call.column)
        elif name in ("sys.path.insert", "sys.path.append", "site.addsitedir", "sys.path.extend"):
            for value in (*call.argument(0), *call.argument(1)):
                for item in value if isinstance(value, tuple) else (value,):
                    if isinstance(item, (str, Ref)) and as_text(item).startswith("/") and is_outside(as_text(item)):
                        yield STEER.at(call.line, "has modules loaded from outside the workspace", call.column)
        elif name == "os.environ.update":
            for value in call.argument(0):
                for key in getattr(value, "items", ()):
                    yield from _set(as_text(key[0]), call.line, call.column)
            for word in call.keywords:
                yield from _set(word, call.line, call.column)
    yield from _uses(program)


def _uses(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.Name, ast.Attribute):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node, ast.Name) and node.id not in program.environ_names and node.id != "environ":
            continue
        if isinstance(node, ast.Attribute) and node.attr not in ("environ", "environb"):
            continue
        if not any(
            isinstance(value, Ref) and value.name in ("os.environ", "os.environb") for value in program.values(node)
        ):
            continue
        parent = program.parent(node)
        line, column = node.lineno, node.col_offset + 1
        if isinstance(parent, ast.Subscript):
            for text in program.texts(program.values(parent.slice)):
                if isinstance(parent.ctx, (ast.Store, ast.Del)):
                    yield from _set(text, line, column)
                elif isinstance(parent.ctx, ast.Load) and _is_secret(text):
                    yield SECRET.at(line, f"reads the variable {text[:60]}", column)
        elif (isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node) or isinstance(
            parent, (ast.FormattedValue, ast.Return)
        ):
            yield DUMP.at(line, "goes through all environment variables", column)
        elif isinstance(parent, ast.Call) and node in parent.args and _shows(program, parent):
            yield DUMP.at(line, "hands on all environment variables", column)


def _shows(program: Program, call: ast.Call) -> bool:
    names = [value.name for value in program.values(call.func) if isinstance(value, Ref)]
    return any(
        name
        in (
            "print",
            "str",
            "repr",
            "dict",
            "list",
            "sorted",
            "json.dumps",
            "pprint.pprint",
            "json.dump",
            "pprint.pformat",
            "len",
            "vars",
        )
        or name.startswith(("logging.", "?."))
        for name in names
    )


def _set(name: str, line: int, column: int) -> Iterator[Finding]:
    if name in _PRELOAD:
        yield PRELOAD.at(line, f"sets {name}, which other programs obey", column)
    elif name in _STEER:
        yield STEER.at(line, f"sets {name}, which decides what other programs load", column)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        yield from _command(script, command)
    for name, line, column in script.assigned:
        yield from _set(name, line, column)
    for name, line, column in script.indirect:
        if _is_secret(name) and not script.is_assigned(name):
            yield SECRET.at(line, f"reads the variable {name}", column)
    for name, line, column in script.read_variables:
        if _is_secret(name) and not script.is_assigned(name):
            yield SECRET.at(line, f"reads the variable {name}", column)


def _command(script: Script, command: Command) -> Iterator[Finding]:
    name = command.name
    bare = not [arg for arg in command.args if not arg.startswith("-")]
    if name == "printenv" and not bare:
        for word in command.words:
            if _is_secret(word):
                yield SECRET.at(command.line, f"reads the variable {word}", command.column)
        if any(HOLE in word for word in command.words):
            yield DUMP.at(command.line, "reads variables by computed names", command.column)
    elif (name in ("printenv", "env") and bare) or (
        name in ("export", "declare", "typeset", "readonly")
        and bare
        and (command.has("-p", "-x") or name == "export")
        and not command.assigns
    ):
        yield DUMP.at(command.line, f"{name} shows all environment variables", command.column)
    elif name == "unset":
        for word in command.words:
            yield from _set(word, command.line, command.column)
    elif name == "set" and not command.args:
        yield DUMP.at(command.line, "shows all variables", command.column)
    elif name == "compgen" and command.has("-v", "-e"):
        yield DUMP.at(command.line, "lists all variables", command.column)
