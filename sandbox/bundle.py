"""The supervisor and its parts as one source text, to be handed to `python3 -I -c`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

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

_PROGRAM = """\
import sys
ModuleType = type(sys)
for name in ("sandbox", "sandbox.inside"):
    sys.modules[name] = ModuleType(name)
sys.modules["sandbox"].inside = sys.modules["sandbox.inside"]
for name, source in {sources!r}:
    module = sys.modules["sandbox." + name] = ModuleType("sandbox." + name)
    setattr(sys.modules["sandbox.inside"], name.rpartition(".")[2], module)
    exec(compile(source, name, "exec"), module.__dict__)
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
    return _program(_KERNEL_MODULES) + _FORGET


@cache
def source() -> str:
    """The text. At most 128 KiB, which is what Linux takes as one argument."""
    return _program(_MODULES) + "module.main()\n"


def _program(modules: tuple[str, ...]) -> str:
    return _PROGRAM.format(sources=[(name, _text(name)) for name in modules])


_OF_ANNOTATIONS = re.compile(r"^from (?:typing|collections\.abc) import .*\n", re.MULTILINE)


def _text(module: str) -> str:
    text = (_HERE / f"{module.replace('.', '/')}.py").read_text("utf-8")
    # Nothing evaluates an annotation, and what they name would take as long to import as all the rest.
    return _OF_ANNOTATIONS.sub("", text)
