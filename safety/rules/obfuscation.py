"""Obfuscation: code that hides what it does, or comes out of data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_names import Bind
from safety.python_program import Call, Program
from safety.python_values import HOLE, Ref, Value, as_text, words
from safety.rules.rule import Rule
from safety.verdicts import Finding

EVAL = Rule(
    "obfuscation.eval",
    "ask",
    "obfuscation",
    "Text that is known only at run time is run as code.",
    bad=(
        "eval(input())",
        "def f(code):\n    exec(code)",
        "import js2py\njs2py.eval_js('1')",
        "import builtins\ngetattr(builtins, 'ex' + 'ec')(open('x').read())",
    ),
    good=("import ast\nast.literal_eval('[1]')", "eval('1 + 1')", "import re\nre.compile('a')"),
)
HIDDEN = Rule(
    "obfuscation.hidden-code",
    "deny",
    "obfuscation",
    "Code is packed so that a reader cannot see it, then unpacked and run.",
    bad=(
        "import base64\nexec(base64.b64decode('cHJpbnQoMSk='))",
        "#!bash\necho bHM= | base64 -d | sh",
        "import zlib\nf = zlib.decompress(open('x', 'rb').read())\nexec(f)",
    ),
    good=("import base64\nprint(base64.b64decode('cHJpbnQoMSk='))", "#!bash\necho bHM= | base64 -d"),
)
BYTECODE = Rule(
    "obfuscation.bytecode",
    "ask",
    "obfuscation",
    "Compiled code is loaded that nobody can read.",
    bad=("import marshal\nmarshal.loads(open('x', 'rb').read())", "import types\ntypes.CodeType(0)"),
    good=("import dis\ndis.dis('1')",),
)
DYNAMIC = Rule(
    "obfuscation.dynamic-name",
    "ask",
    "obfuscation",
    "Which module or function is used is known only at run time.",
    bad=("import os\ngetattr(os, input())('x')", "__import__(input())"),
    good=(
        "class A:\n    x = 1\ngetattr(A(), input())",
        "import os\ngetattr(os, 'getcwd')()",
        "import importlib\nimportlib.import_module('json')",
    ),
)
INSIDES = Rule(
    "obfuscation.interpreter-insides",
    "ask",
    "obfuscation",
    "A walk through the interpreter's insides reaches what was not given.",
    bad=("().__class__.__bases__[0].__subclasses__()", "print.__globals__", "(lambda: 0).__globals__['__builtins__']"),
    good=("class A:\n    pass\nprint(A.__subclasses__(), A().__class__.__name__)",),
)
REPLACE = Rule(
    "obfuscation.replaces-function",
    "ask",
    "obfuscation",
    "A function of a module is replaced: whoever calls it later runs something else.",
    bad=("import builtins\nbuiltins.print = lambda *a: None", "import os\ndef f(x):\n    pass\nos.remove = f"),
    good=("import sys, io\nsys.stdout = io.StringIO()", "class A:\n    pass\nA.f = lambda self: 1"),
)
RULES = (EVAL, HIDDEN, BYTECODE, DYNAMIC, INSIDES, REPLACE)
_REPLACED = words(
    "builtins os os.path subprocess socket math shutil ssl hashlib random time json requests hmac secrets"
)
_EVALUATORS = re.compile(
    r"^(?:eval|exec|execfile|compile|code\.\w+\(\)\.(?:runsource|runcode|push)|code\.interact"
    r"|timeit\.(?:timeit|repeat)|builtins\.\w+|runpy\.run_\w+|pandas\.eval|numexpr\.evaluate"
    r"|sympy\.parsing\.sympy_parser\.parse_expr)$"
)
_DECODERS = re.compile(
    r"^(?:base64\.(?!b\d+encode|\w*encode)\w+|zlib\.decompress\w*|gzip\.decompress|bz2\.decompress"
    r"|lzma\.decompress|binascii\.(?:unhexlify|a2b_\w+)|codecs\.decode|bytes\.fromhex|bytearray\.fromhex"
    r"|marshal\.loads|cryptography\..*decrypt|.*\.decrypt)(?:\(\))?"
)
_RUNNERS = re.compile(
    r"^(?:eval|exec|compile|os\.(?:system|popen)|subprocess\.\w+|marshal\.loads|types\.FunctionType)$"
)
_SENSITIVE = words("os subprocess builtins __builtins__ sys shutil socket importlib ctypes posix pty")
_INSIDE_TEXT = re.compile(
    r"^__(?:globals|builtins|subclasses)__$|__subclasses__\s*\(|__class__\s*\.\s*__(?:mro|base)"
    r"|\.__globals__|\.__builtins__"
)
_INSIDES = words(
    "__globals__ __builtins__ __code__ f_globals f_builtins gi_frame gi_code cr_frame __closure__ "
    "tb_frame func_globals __getattribute__ __loader__"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    compiles = _compiles_constants(program)
    for call in program.calls:
        yield from _evaluates(program, call, compiles)
        yield from _dynamic(call)
    yield from _insides(program)
    yield from _replaces(program)


def _evaluates(program: Program, call: Call, compiles: bool) -> Iterator[Finding]:
    if _RUNNERS.match(call.name) and call.node.args and decoded(program, call.node.args[0]):
        yield HIDDEN.at(call.line, "runs code that was packed out of sight", call.column)
    elif _EVALUATORS.match(call.name) and call.name != "compile":
        values = call.argument(0, "source", "stmt", "expr")
        if call.name.startswith("timeit.") and not call.given(0, "stmt"):
            return
        if not all(
            isinstance(value, (str, bytes)) and HOLE not in as_text(value) for value in values
        ) and not _is_function(values):
            if (
                any(isinstance(value, Ref) and value.name in ("compile()", "ast.parse()") for value in values)
                and compiles
            ):
                return
            if call.node.args and _only_sums(program, call.node.args[0]):
                return
            yield EVAL.at(call.line, "runs text as code that is known only at run time", call.column)
    elif re.match(
        r"^(?:execjs|js2py|py_mini_racer|dukpy|quickjs|STPyV8|lupa|pythonmonkey)\b.*(?:eval|exec|call|compile|run)",
        call.name,
    ):
        yield EVAL.at(call.line, "runs a text as code of another language", call.column)
    elif re.match(
        r"^(?:marshal\.loads?|types\.(?:CodeType|FunctionType)|importlib\.machinery\.SourcelessFileLoader"
        r"|py_compile\.|imp\.load_)",
        call.name,
    ):
        yield BYTECODE.at(call.line, "loads compiled or foreign code", call.column)


_SUM = re.compile(r"^[\d\s.+\-*/%()<>=!&|^~,]*$")


def _only_sums(program: Program, expr: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a text is put together from digits and operators alone: then it can name nothing."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        return _only_sums(program, expr.left, seen) and _only_sums(program, expr.right, seen)
    if isinstance(expr, ast.Name) and expr.id in seen:
        return True
    if isinstance(expr, ast.Name) and len(seen) < 3:
        found = program.names.lookup(expr.id, program.function(expr))
        if found and len(found[1]) < 8 and all(bind.expr is not None and not bind.steps for bind in found[1]):
            parts = [
                bind.expr.right if bind.grows and isinstance(bind.expr, ast.BinOp) else bind.expr for bind in found[1]
            ]
            return all(part is not None and _only_sums(program, part, seen | {expr.id}) for part in parts)
    return all(isinstance(value, (str, int, float)) and _SUM.match(str(value)) for value in program.values(expr))


def _is_function(values: tuple[Value, ...]) -> bool:
    from safety.python_values import Local

    return all(isinstance(value, Local) for value in values)


def _compiles_constants(program: Program) -> bool:
    """Whether all that the program compiles is known: then it is looked at as code of its own."""
    made = [call for call in program.calls if call.name in ("compile", "ast.parse")]
    return bool(made) and all(
        (isinstance(value, str) and HOLE not in value) or (isinstance(value, Ref) and value.name == "ast.parse()")
        for call in made
        for value in call.argument(0, "source")
    )


def decoded(program: Program, expr: ast.expr, depth: int = 0) -> bool:
    """Whether an expression comes out of a decoder, through a few names."""
    if not program.decodes:
        return False
    for node in ast.walk(expr):
        if isinstance(node, ast.Call):
            names = [value.name for value in program.values(node.func) if isinstance(value, Ref)]
            if any(_DECODERS.match(name) for name in names):
                return True
        elif isinstance(node, ast.Name) and depth < 4:
            found = program.names.lookup(node.id, program.function(node))
            if found and any(
                bind.expr is not None and decoded(program, bind.expr, depth + 1)
                for bind in found[1][:4]
                if _other(bind, expr)
            ):
                return True
    return False


def _other(bind: Bind, expr: ast.expr) -> bool:
    return bind.expr is not expr


def _dynamic(call: Call) -> Iterator[Finding]:
    if call.name in ("__import__", "importlib.import_module"):
        if any(HOLE in as_text(value) for value in call.argument(0, "name")):
            yield DYNAMIC.at(call.line, "imports a module whose name is known only at run time", call.column)
    elif call.name == "getattr":
        modules = [value.name for value in call.argument(0) if isinstance(value, Ref)]
        if any(name in _SENSITIVE for name in modules) and any(HOLE in as_text(value) for value in call.argument(1)):
            yield DYNAMIC.at(call.line, "takes a function by a name that is known only at run time", call.column)


def _replaces(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.Assign):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Attribute):
            continue
        modules = [value.name for value in program.values(target.value) if isinstance(value, Ref)]
        values = program.values(node.value)
        foreign = all(isinstance(value, Ref) and not value.name.endswith(")") for value in values)
        if any(name in _REPLACED for name in modules) and (foreign or _is_function(values)):
            yield REPLACE.at(node.lineno, f"puts another function in the place of {target.attr}", node.col_offset + 1)


def _insides(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.Attribute):
        if not isinstance(node, ast.Attribute):
            continue
        base = node.value
        walk = node.attr == "__subclasses__" and (
            isinstance(base, (ast.Subscript, ast.Call))
            or (isinstance(base, ast.Attribute) and base.attr.startswith("__"))
            or (isinstance(base, ast.Name) and base.id == "object")
        )
        if walk or (
            node.attr in _INSIDES and node.attr not in ("__getattribute__", "__loader__", "tb_frame", "__closure__")
        ):
            yield INSIDES.at(node.lineno, f"reaches into the interpreter by {node.attr}", node.col_offset + 1)
    for node in program.nodes(ast.Name):
        if isinstance(node, ast.Name) and node.id == "__builtins__":
            yield INSIDES.at(node.lineno, "reaches into the interpreter by __builtins__", node.col_offset + 1)
    for node in program.nodes(ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _INSIDE_TEXT.search(node.value):
            yield INSIDES.at(node.lineno, "holds a text that reaches into the interpreter", node.col_offset + 1)
