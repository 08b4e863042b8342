"""Disclosure: keys that stand in the code, and numbers of a person that are shown or logged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

IN_CODE = Rule(
    "disclosure.key-in-code",
    "ask",
    "credentials",
    "A key that stands in the code is in the hands of everybody who reads it.",
    bad=(
        "API_KEY = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'",
        "cfg = {'secret_key': 'a8f5f167f44f4964e6c998dee827110c'}",
        "#!bash\nexport API_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    ),
    good=("API_KEY = 'your-api-key-here'", "key = 'name'", "SECRET_KEY = 'dev'", "#!bash\nTOKEN=abc"),
)
PERSONAL = Rule(
    "disclosure.personal",
    "ask",
    "credentials",
    "Numbers by which a person can be robbed or taken for another are shown, logged or written down.",
    bad=(
        "def pay(card_number, cvv):\n    print('paying', card_number, cvv)",
        "people = [{'ssn': '078-05-1120'}]\nfor p in people:\n    print(p['ssn'])",
        "import logging\ndef login(user, password):\n    logging.info('%s %s', user, password)",
    ),
    good=(
        "def luhn(card_number):\n    return sum(map(int, card_number)) % 10 == 0\nprint(luhn('79'))",
        "import secrets\npassword = secrets.token_hex()\nprint(password)",
    ),
)
RULES = (IN_CODE, PERSONAL)

_KNOWN_KEY = re.compile(
    r"^(?:sk_(?:live|test)_\w{16,}|sk-[\w-]{20,}|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|gh[pousr]_\w{30,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{18,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|npm_\w{30,}"
    r"|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+|-----BEGIN (?:\w+ )*PRIVATE KEY-----)"
)
_KEY_NAME = re.compile(
    r"(?:api|secret|access|private|auth|encryption|signing|master|jwt|aws|stripe)_?(?:access_?)?(?:key|token|secret)"
    r"|client_secret|bearer|db_pass\w*|database_password|root_password|admin_pass\w*",
    re.IGNORECASE,
)
_SAMPLE = re.compile(
    r"your|example|change|placeholder|dummy|xxx|<|\$|\{|insert|todo|replace|env|test_?key|\s", re.IGNORECASE
)


def _is_key(name: str, value: str) -> bool:
    """Whether a text is a key: by its form, or by its name where it looks as if made by chance."""
    if _KNOWN_KEY.match(value):
        return True
    if not _KEY_NAME.search(name) or len(value) < 10 or len(value) > 300 or _SAMPLE.search(value):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w]"))
    return kinds >= 3 or (kinds >= 2 and len(value) >= 20 and bool(re.search(r"\d", value)))


_NUMBERS = re.compile(
    r"(?:^|_)(?:ssn|social_security(?:_number)?|cvv2?|cvc|card_?(?:number|no|num)|credit_?card(?:_?(?:number|no|num))?"
    r"|passport_?(?:number|no)|iban|account_?pin|card_?pin|medical_record|diagnosis|national_id|tax_id)$",
    re.IGNORECASE,
)
_SELECTS = re.compile(
    r"\s*select\b[^;]{0,200}\b(?:ssn|social_security\w*|cvv2?|card_?number|credit_?card\w*|passport_?(?:number|no)|national_id)\b"
    r"[^;]{0,200}\bfrom\b",
    re.IGNORECASE,
)
_SECRETS = re.compile(
    r"(?:^|_)(?:passw(?:or)?d|passphrase|api_?key|secret(?:_key)?|access_token|auth_token|private_key)$", re.IGNORECASE
)
_LOGS = re.compile(r"(?:^|\.)(?:debug|info|warning|warn|error|critical|exception|log)$")
_CHECKS = re.compile(r"luhn|valid|mask|redact|anonymi[sz]e|\*{3}", re.IGNORECASE)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    yield from _in_code(program)
    if not _CHECKS.search(program.code):
        for call in program.calls:
            yield from _shown(call)


def _in_code(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.Constant):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not 10 <= len(node.value) <= 4000:
            continue
        parent = program.parent(node)
        name = ""
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
            name = _name_of(target)
        elif isinstance(parent, ast.keyword):
            name = parent.arg or ""
        elif isinstance(parent, ast.Dict):
            place = next((at for at, value in enumerate(parent.values) if value is node), None)
            key = parent.keys[place] if place is not None else None
            name = str(key.value) if isinstance(key, ast.Constant) else ""
        elif isinstance(parent, ast.Expr):
            continue
        if _SELECTS.match(node.value):
            yield PERSONAL.at(node.lineno, "reads numbers by which people can be robbed", node.col_offset + 1)
        if _is_key(name, node.value):
            yield IN_CODE.at(node.lineno, "holds a key in the code", node.col_offset + 1)


def _name_of(expr: ast.AST) -> str:
    if isinstance(expr, ast.Name):
        return expr.id
    if isinstance(expr, ast.Attribute):
        return expr.attr
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant):
        return str(expr.slice.value)
    return ""


def _shown(call: Call) -> Iterator[Finding]:
    logs = bool(_LOGS.search(call.name)) and not call.name.startswith(("math.", "numpy.", "torch.", "cmath."))
    writes = call.name.endswith((".write", ".writelines", ".writerow", ".writerows"))
    if not logs and not writes and call.name != "print":
        return
    for argument in call.node.args:
        parts: list[ast.AST] = [argument]
        if isinstance(argument, ast.JoinedStr):
            parts = [part.value for part in argument.values if isinstance(part, ast.FormattedValue)]
        elif isinstance(argument, ast.BinOp):
            parts = [part for part in ast.walk(argument) if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))]
        for part in parts:
            name = _name_of(part)
            if _NUMBERS.search(name) or (logs and _SECRETS.search(name)):
                yield PERSONAL.at(call.line, f"shows or logs {name[:40]}", call.column)
                return


_SHELL_KEY = re.compile(r"\b([A-Za-z_]\w*)=[\"']?([^\s\"';|&]{10,300})")


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for number, line in enumerate(script.lines, 1):
        for found in _SHELL_KEY.finditer(line[:2000]):
            if _is_key(found[1], found[2]):
                yield IN_CODE.at(number, "holds a key in the code", found.start() + 1)
                break
