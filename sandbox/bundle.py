"""The supervisor and its parts as one source text, to be handed to `python3 -I -c`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_MODULES = (
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
import sys, types
for name in ("sandbox", "sandbox.inside"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["sandbox"].inside = sys.modules["sandbox.inside"]
for name, source in {sources!r}:
    module = sys.modules["sandbox." + name] = types.ModuleType("sandbox." + name)
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
    sources = [(name, (_HERE / f"{name.replace('.', '/')}.py").read_text("utf-8")) for name in modules]
    return _PROGRAM.format(sources=sources)
