"""The supervisor and its parts as one source text, to be handed to `python3 -I -c`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_MODULES = (
    "inside.seccomp",
    "inside.frames",
    "inside.output",
    "inside.files",
    "inside.posture",
    "inside.process",
    "inside.warm",
    "inside.wipe",
    "supervisor",
)
"""In the order of their imports."""

_PROGRAM = """\
import sys, types
for name in ("sandbox", "sandbox.inside"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["sandbox"].inside = sys.modules["sandbox.inside"]
for name, source in {sources!r}:
    module = sys.modules["sandbox." + name] = types.ModuleType("sandbox." + name)
    setattr(sys.modules["sandbox.inside"], name.rpartition(".")[2], module)
    exec(compile(source, name, "exec"), module.__dict__)
module.main()
"""


@cache
def warm_source() -> str:
    """The program of a warm process."""
    return (_HERE / "inside" / "become.py").read_text("utf-8")


@cache
def source() -> str:
    """The text. At most 128 KiB, which is what Linux takes as one argument."""
    sources = [(name, (_HERE / f"{name.replace('.', '/')}.py").read_text("utf-8")) for name in _MODULES]
    return _PROGRAM.format(sources=sources)
