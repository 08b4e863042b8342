"""Serialised data that runs code when it is loaded."""

from __future__ import annotations

import ast
import pickletools
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import Ref
from safety.rules.obfuscation import decoded
from safety.rules.rule import Rule
from safety.verdicts import Finding

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
RULES = (UNPICKLE, REDUCE)

_PICKLES = re.compile(r"^(?:pickle|dill|cloudpickle|joblib)\.(?:loads?|Unpickler)$|^pandas\.read_pickle$")
_PICKLE_MAKERS = re.compile(r"^(?:pickle|dill|cloudpickle|joblib)\.(?:dumps?|Pickler)$|.*\.to_pickle$")
_UNSAFE_LOADS = re.compile(
    r"^(?:jsonpickle\.(?:decode|loads|unpickler\.)|yaml\.(?:unsafe_load|unsafe_load_all|full_load"
    r"|UnsafeLoader)|dill\.loads?|cloudpickle\.loads?|shelve\.Unpickler|klepto|sqlalchemy\.ext\.serializer|jsonpickle)"
)
_NAMED = re.compile(r"^(?:sys\.argv|input\(\)|argparse\.|flask\.request|cgi\.)")
_DANGEROUS = re.compile(
    r"^(?:os\.|subprocess\.|eval$|exec$|shutil\.|socket\.|pty\.|builtins\.|__import__|compile$|importlib\."
    r"|open$|commands\.)"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    makes = any(_PICKLE_MAKERS.match(call.name) for call in program.calls)
    for call in program.calls:
        yield from _loads(program, call, makes)
    yield from _reduces(program)


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
    elif name == "shelve.open" and any(
        isinstance(value, Ref) and _NAMED.match(value.name) for value in call.argument(0, "filename")
    ):
        yield UNPICKLE.at(call.line, "opens a shelf, which is pickles, that somebody else names", call.column)
    elif name == "torch.load" and any(value is False for value in call.keywords.get("weights_only", ())):
        yield UNPICKLE.at(call.line, "loads a model with any objects in it", call.column)
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
