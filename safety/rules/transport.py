"""Transport: connections whose other end is not checked, so that anybody may stand in between."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Program
from safety.python_values import Ref, as_text
from safety.rules.rule import Rule
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

UNCHECKED = Rule(
    "transport.unchecked",
    "ask",
    "network",
    "Nobody checks who is at the other end: whoever sits in between reads and changes all of it.",
    bad=(
        "import ssl\nc = ssl.create_default_context()\nc.check_hostname = False\nc.verify_mode = ssl.CERT_NONE",
        "def f(session):\n    session.verify = False",
        "options = {'rejectUnauthorized': False}",
        "#!bash\nexport NODE_TLS_REJECT_UNAUTHORIZED=0",
        "#!bash\ngit -c http.sslVerify=false status",
    ),
    good=(
        "verify = True",
        "import ssl\nc = ssl.create_default_context()\nc.check_hostname = True",
        "#!bash\nexport X=0",
    ),
)
RULES = (UNCHECKED,)

_OFF = re.compile(
    r"^(?:(?:ssl|tls|cert|https)_?(?:verify|check|validat\w+)|(?:verify|check|validate)_?(?:ssl|tls|cert\w*|host\w*|peer)"
    r"|check_hostname|assert_hostname|reject_?unauthorized|strict_?ssl|ssl_?verification|verify)$",
    re.IGNORECASE,
)
_ON = re.compile(
    r"^(?:(?:tls|ssl)_?allow_?invalid\w*|insecure|insecure_skip_verify|disable_?(?:ssl|tls|cert)\w*|trust_all\w*)$",
    re.IGNORECASE,
)


def _is_open(name: str, value: object) -> bool:
    return (bool(_OFF.match(name)) and value is False) or (bool(_ON.match(name)) and value is True)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for node in program.nodes(ast.Assign):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(target, (ast.Attribute, ast.Subscript)):
            continue
        name = target.attr if isinstance(target, ast.Attribute) else as_text(getattr(target.slice, "value", ""))
        constant = node.value.value if isinstance(node.value, ast.Constant) else None
        none = name in ("verify_mode", "cert_reqs") and any(
            (isinstance(value, Ref) and value.name == "ssl.CERT_NONE") or value == 0
            for value in program.values(node.value)
        )
        if none or _is_open(name, constant):
            yield UNCHECKED.at(node.lineno, f"sets {name}: the other end is not checked", node.col_offset + 1)
    for node in program.nodes(ast.Dict):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                named = isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value != "verify"
                if (
                    named
                    and isinstance(value, ast.Constant)
                    and _is_open(as_text(getattr(key, "value", "")), value.value)
                ):
                    yield UNCHECKED.at(node.lineno, "does not check the other end", node.col_offset + 1)
    for call in program.calls:
        for word in call.node.keywords:
            given = word.value.value if isinstance(word.value, ast.Constant) else None
            none = word.arg in ("cert_reqs", "verify_mode") and any(
                (isinstance(item, Ref) and item.name == "ssl.CERT_NONE") or item == "CERT_NONE"
                for item in call.keywords.get(word.arg, ())
            )
            plain = word.arg is not None and word.arg not in ("verify", "insecure") and _is_open(word.arg, given)
            if none or plain:
                yield UNCHECKED.at(call.line, f"{word.arg}: the other end is not checked", call.column)


_VARIABLES = {
    "NODE_TLS_REJECT_UNAUTHORIZED": "0",
    "PYTHONHTTPSVERIFY": "0",
    "GIT_SSL_NO_VERIFY": "1 true",
    "CURL_INSECURE": "1 true",
    "HOMEBREW_CURL_INSECURE": "1",
}
_OPTION = re.compile(
    r"sslverify=(?:false|0|no)\b|StrictHostKeyChecking[= ](?:no|off)"
    r"|UserKnownHostsFile[= ]/dev/null|strict-ssl[= ]false"
    r"|^--(?:insecure|no-check-certificate|no-verify-ssl|trusted-host|allow-insecure\S*|disable-ssl\S*"
    r"|ssl-mode=disabled)\b",
    re.IGNORECASE,
)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for name, line, column in script.assigned:
        if name in _VARIABLES and any(word in _VARIABLES[name].split() for word in script.held(name)):
            yield UNCHECKED.at(line, f"sets {name}: the other end is not checked", column)
    for command in script.commands:
        yield from _command(command)


def _command(command: Command) -> Iterator[Finding]:
    if command.name in ("echo", "printf", "grep"):
        return
    if any(_OPTION.search(arg) for arg in command.args):
        yield UNCHECKED.at(command.line, f"{command.name} does not check the other end", command.column)
