"""The supervisor and its parts as arguments of `python3`, compiled ahead where the container's has our byte code."""

from __future__ import annotations

import base64
import importlib.util
import marshal
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
_MODULES = (
    "inside.lean",
    "inside.seccomp",
    "inside.frames",
    "inside.link",
    "inside.output",
    "inside.files",
    "inside.files_out",
    "inside.posture",
    "inside.process",
    "inside.watch",
    "inside.warm",
    "inside.kernel",
    "inside.kernel_blocks",
    "inside.ready",
    "inside.wipe",
    "supervisor",
)
"""In the order of their imports."""

_BEGINNING = """\
import sys
ModuleType = type(sys)
for name in ("sandbox", "sandbox.inside"):
    sys.modules[name] = ModuleType(name)
sys.modules["sandbox"].inside = sys.modules["sandbox.inside"]
"""

_EACH = """\
for name, source in parts:
    module = sys.modules["sandbox." + name] = ModuleType("sandbox." + name)
    setattr(sys.modules["sandbox.inside"], name.rpartition(".")[2], module)
    exec(compile(source, name, "exec") if isinstance(source, str) else source, module.__dict__)
"""

_UNPACK = """\
import binascii, marshal, zlib
same = sys.argv[1] == sys.modules["_frozen_importlib_external"].MAGIC_NUMBER.hex()
parts = marshal.loads(zlib.decompress(binascii.a2b_base64(sys.argv[2 if same else 3])))
"""

_KERNEL_MODULES = ("inside.kernel_text", "inside.kernel_pictures", "inside.kernel_shell", "inside.kernel_main")

_FORGET = """\
main = module.main
# A block's own module may have the name.
for name in [name for name in sys.modules if name.partition(".")[0] == "sandbox"]:
    del sys.modules[name]
main()
"""


@cache
def warm_source() -> str:
    """The program of a warm process."""
    return (_HERE / "inside" / "become.py").read_text("utf-8")


@cache
def kernel_source() -> str:
    """The program of a kernel."""
    parts = f"parts = {_sources(_KERNEL_MODULES)!r}\n"
    return _BEGINNING + parts + _EACH + _FORGET


@cache
def arguments() -> tuple[str, ...]:
    """What the supervisor is started with. Linux takes at most 128 KiB as one argument.

    To compile it takes longer than all else of its start, so its code goes along, for the same version of Python.
    """
    sources = _sources(_MODULES)
    code = [(name, compile(source, name, "exec", dont_inherit=True, optimize=2)) for name, source in sources]
    program = _BEGINNING + _UNPACK + _EACH + "module.main()\n"
    packed = (_packed(code, marshal.version), _packed(sources, _ANY_VERSION))
    return ("-c", program, importlib.util.MAGIC_NUMBER.hex(), *packed)


_ANY_VERSION = 2
"""The format of marshal that every Python 3 reads."""


def _packed(parts: Any, version: int) -> str:
    return base64.b64encode(zlib.compress(marshal.dumps(parts, version), 9)).decode("ascii")


def _sources(modules: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _text(name)) for name in modules)


_OF_ANNOTATIONS = re.compile(r"^from (?:typing|collections\.abc) import .*\n", re.MULTILINE)


def _text(module: str) -> str:
    text = (_HERE / f"{module.replace('.', '/')}.py").read_text("utf-8")
    # Nothing evaluates an annotation, and what they name would take as long to import as all the rest.
    return _OF_ANNOTATIONS.sub("", text)
