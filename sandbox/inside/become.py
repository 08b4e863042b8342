"""The program of a warm process: import what blocks usually import, wait, then be one block as if started for it.

Run as `python3 -c SOURCE MODULE...` with a socket at descriptor 3. It is one block's process and nothing else: there is
no fork, so nothing that a block does here is ever seen by another.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import importlib.machinery
import os
import signal
import sys
import threading
import types

_CONTROL = 3


def _wait(modules: list[str]) -> str:
    """Import, say that it is done, and return the name of the block's file."""
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    # What is here now is not the block's: its own collections need not go through it again.
    gc.collect()
    gc.freeze()
    os.write(_CONTROL, b"R")
    received = os.read(_CONTROL, 65536)
    if not received:
        os._exit(0)
    os.set_inheritable(_CONTROL, False)
    return os.fsdecode(received)


def _main_module(name: str) -> types.ModuleType:
    """Make the interpreter look as `python3 NAME` makes it."""
    os.chdir("/workspace")
    path = os.path.abspath(name)
    sys.argv[:] = [name]
    sys.orig_argv[1:] = [name]
    sys.path[0] = os.path.dirname(path)
    importlib.invalidate_caches()
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __file__=path,
        __cached__=None,
        __builtins__=sys.modules["builtins"],
        __loader__=importlib.machinery.SourceFileLoader("__main__", path),
        __annotations__={},
    )
    sys.modules["__main__"] = module
    return module


def _run(module: types.ModuleType) -> int:
    """Run the block; returns the exit code that the interpreter would give it."""
    try:
        with open(str(module.__file__), "rb") as file:
            source = file.read()
        exec(compile(source, str(module.__file__), "exec", dont_inherit=True), module.__dict__)
    except SystemExit as error:
        return _code_of(error)
    except BaseException as error:
        # Without the frame of this function, which a fresh interpreter has not either.
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        error.__traceback__ = trace
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        try:
            sys.excepthook(type(error), error, trace)
        except SystemExit as exit_error:
            return _code_of(exit_error)
        return -int(signal.SIGINT) if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _code_of(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def _finish(module: types.ModuleType, code: int, own_pid: int) -> None:
    """End as the interpreter ends: threads, exit functions, the block's own objects, then the streams."""
    # Not its whole finalization: tearing down the imported packages takes longer than most blocks.
    threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    module.__dict__.clear()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except (OSError, ValueError):
            code = code or 120
    if code == -int(signal.SIGINT):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    if os.getpid() == own_pid:
        # The kernel needs longer to take the imported packages out of memory than most blocks run: the end is told now.
        os.write(_CONTROL, bytes([code]))
    os._exit(code)


def _become() -> None:
    module = _main_module(_wait(sys.argv[1:]))
    own_pid = os.getpid()
    _finish(module, _run(module), own_pid)


_become()
