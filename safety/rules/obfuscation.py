"""Obfuscation: code that hides what it does, or comes out of data."""

from __future__ import annotations

import ast
import pickletools
import re
from collections.abc import Iterator

from safety.python_names import Bind
from safety.python_program import Call, Program
from safety.python_values import HOLE, Ref, Value, as_text, words
from safety.rules.rule import Rule
from safety.shell_script import Command, Script
from safety.verdicts import Finding

EVAL = Rule(
    "obfuscation.eval",
    "ask",
    "obfuscation",
    "Text that is known only at run time is run as code.",
    bad=(
        "eval(input())",
        "def f(code):\n    exec(code)",
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
UNPICKLE = Rule(
    "obfuscation.unpickle",
    "ask",
    "obfuscation",
    "Loading a pickle runs what its author put in, and this one is not made here in the open.",
    bad=(
        "import pickle\npickle.load(open('model.bin', 'rb'))",
        "import jsonpickle\njsonpickle.decode('{}')",
        "import yaml\nyaml.load('a: 1', Loader=yaml.Loader)",
    ),
    good=(
        "import pickle\nwith open('a', 'wb') as f:\n    pickle.dump([1], f)\nwith open('a', 'rb') as f:\n"
        "    print(pickle.load(f))",
        "import yaml\nyaml.safe_load('a: 1')",
        "import json\njson.loads('1')",
    ),
)
REDUCE = Rule(
    "obfuscation.pickle-runs",
    "deny",
    "obfuscation",
    "The pickle is built to run a command when it is loaded.",
    bad=(
        "import os\nclass A:\n    def __reduce__(self):\n        return (os.system, ('id',))",
        "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'id'\\ntR.\")",
    ),
    good=("class A:\n    def __reduce__(self):\n        return (A, ())",),
)
OTHER = Rule(
    "obfuscation.other-language",
    "ask",
    "obfuscation",
    "A program in another language stands inside the line; it is not analysed.",
    bad=("#!bash\nperl -e 'print 1'", "#!bash\nawk 'BEGIN { system(\"id\") }'"),
    good=("#!bash\nperl --version", "#!bash\nawk '{ print $1 }' a.txt"),
)
PIPED = Rule(
    "obfuscation.piped-code",
    "ask",
    "obfuscation",
    "What is piped into an interpreter is known only at run time.",
    bad=("#!bash\ncat x | sh", "#!bash\nsh < list"),
    good=("#!bash\ncat x | python3 tool.py", "#!bash\necho 'print(1)' | python3"),
)
RULES = (EVAL, HIDDEN, BYTECODE, DYNAMIC, INSIDES, UNPICKLE, REDUCE, OTHER, PIPED)

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
_PICKLES = re.compile(r"^(?:pickle|dill|cloudpickle|joblib)\.(?:loads?|Unpickler)$|^pandas\.read_pickle$")
_PICKLE_MAKERS = re.compile(r"^(?:pickle|dill|cloudpickle|joblib)\.(?:dumps?|Pickler)$|.*\.to_pickle$")
_UNSAFE_LOADS = re.compile(
    r"^(?:jsonpickle\.(?:decode|loads|unpickler\.)|yaml\.(?:unsafe_load|unsafe_load_all|full_load"
    r"|UnsafeLoader)|dill\.loads?|cloudpickle\.loads?|shelve\.Unpickler|klepto|sqlalchemy\.ext\.serializer|jsonpickle)"
)
_SENSITIVE = words("os subprocess builtins __builtins__ sys shutil socket importlib ctypes posix pty")
_DANGEROUS = re.compile(
    r"^(?:os\.|subprocess\.|eval$|exec$|shutil\.|socket\.|pty\.|builtins\.|__import__|compile$|importlib\."
    r"|open$|commands\.)"
)
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
    pickles = any(_PICKLE_MAKERS.match(call.name) for call in program.calls)
    compiles = _compiles_constants(program)
    for call in program.calls:
        yield from _evaluates(program, call, compiles)
        yield from _dynamic(call)
        yield from _loads(program, call, pickles)
    yield from _reduces(program)
    yield from _insides(program)


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


def _loads(program: Program, call: Call, pickles: bool) -> Iterator[Finding]:
    name = call.name
    if name == "yaml.load":
        loaders = [value.name for value in call.argument(1, "Loader") if isinstance(value, Ref)]
        if not any("Safe" in loader or "Base" in loader for loader in loaders):
            yield UNPICKLE.at(call.line, "loads YAML that can make any object", call.column)
    elif _UNSAFE_LOADS.match(name):
        yield UNPICKLE.at(call.line, "makes any object that the data asks for", call.column)
    elif name == "numpy.load" and any(value is True for value in call.keywords.get("allow_pickle", ())):
        yield UNPICKLE.at(call.line, "loads arrays with pickled objects", call.column)
    elif _PICKLES.match(name):
        for value in call.argument(0):
            if isinstance(value, bytes) and _runs_something(value):
                yield REDUCE.at(call.line, "loads a pickle that runs a command", call.column)
                return
        if not pickles or (call.node.args and decoded(program, call.node.args[0])):
            yield UNPICKLE.at(call.line, "loads a pickle that is not made here in the open", call.column)


def _runs_something(data: bytes) -> bool:
    try:
        names = {opcode.name for opcode, _, _ in pickletools.genops(data)}
    except Exception:  # no pickle: nothing runs
        return False
    return bool(names & {"REDUCE", "INST", "OBJ", "NEWOBJ"}) and bool(names & {"GLOBAL", "STACK_GLOBAL", "INST"})


def _reduces(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.FunctionDef):
        if not isinstance(node, ast.FunctionDef) or node.name not in ("__reduce__", "__reduce_ex__", "__setstate__"):
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Tuple) and inner.value.elts:
                for value in program.values(inner.value.elts[0]):
                    if isinstance(value, Ref) and _DANGEROUS.match(value.name):
                        yield REDUCE.at(
                            inner.lineno,
                            f"builds a pickle that runs {value.name} when it is loaded",
                            inner.col_offset + 1,
                        )


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


_INTERPRETERS = words("sh bash dash zsh ksh ash python python2 python3 perl ruby node php lua")


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        yield from _piped(command)
        yield from _foreign(command)


def _piped(command: Command) -> Iterator[Finding]:
    if command.name in _INTERPRETERS and command.name not in ("perl", "ruby", "awk"):
        source = command.before
        fed = source is not None and not command.words and "-c" not in command.args and "-m" not in command.args
        if fed and source is not None:
            chain = list(_chain(source))
            if any(
                stage.name in ("base64", "base32", "xxd", "rev", "gunzip", "zcat", "tr", "openssl", "uudecode")
                for stage in chain
            ):
                yield HIDDEN.at(command.line, "unpacks text and runs it", command.column)
            elif not any(
                stage.name in ("echo", "printf", "cat")
                and HOLE not in " ".join(stage.args)
                and (stage.name != "cat" or stage.body)
                for stage in chain
            ):
                yield PIPED.at(
                    command.line, f"feeds {command.name} with what is known only at run time", command.column
                )
        elif any(operator == "<" for operator, _ in command.redirects) and not command.words:
            yield PIPED.at(command.line, f"feeds {command.name} from a file", command.column)


def _chain(command: Command | None) -> Iterator[Command]:
    for _ in range(16):
        if command is None:
            return
        yield command
        command = command.before


def _foreign(command: Command) -> Iterator[Finding]:
    args = " ".join(command.args)
    if command.name in (
        "perl",
        "ruby",
        "node",
        "php",
        "lua",
        "deno",
        "osascript",
        "powershell",
        "pwsh",
        "tclsh",
        "Rscript",
        "expect",
    ) and (command.has("-e", "-r", "-c", "-Command", "-E", "-ne", "-pe") or command.body is not None):
        text = args + (command.body or "")
        harmless = (
            command.name == "perl"
            and not re.search(
                r"system|exec|open|socket|unlink|`|fork|eval|qx|kill|IO::|require|%ENV|rmdir|/etc|/proc|/root", text
            )
            and command.has("-p", "-n", "-pe", "-ne")
        )
        if not harmless:
            yield OTHER.at(command.line, f"holds a {command.name} program, which is not analysed", command.column)
    elif command.name in ("awk", "gawk", "mawk", "nawk") and re.search(
        r"\bsystem\s*\(|\|\s*getline|/inet/|\|\s*\"(?:sh|bash)\"", args
    ):
        yield OTHER.at(command.line, "starts programs out of awk", command.column)
    elif (
        command.name in ("vim", "vi", "ed", "ex", "emacs", "gdb", "make")
        and re.search(r"!|system\(|--eval", args)
        and command.name != "make"
    ):
        yield OTHER.at(command.line, f"starts programs out of {command.name}", command.column)
