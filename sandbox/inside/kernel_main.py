"""The program of a kernel: one IPython shell, which runs block after block and keeps what they define.

Run as `python3 -c SOURCE DIRECTORY MODULE...` with a socket at descriptor 3: requests come over it, a JSON object a
line, and the end of each is told by an exit code and the request's token. There is no port and no other connection.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib
import io
import json
import os
import runpy
import select
import signal
import sys
from typing import Any

from sandbox.inside.kernel_shell import Shell

_CONTROL = 3
_PACKAGES = "/packages/start/sitecustomize.py"
"""What a Python that starts runs to find them; blocks cannot write there."""


class Main:
    """A kernel's life, from its imports to the end of its socket."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._own_pid = os.getpid()
        # Out of the way of a block that closes or overwrites what it finds.
        self._control = fcntl.fcntl(_CONTROL, fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(_CONTROL)
        self._standard = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in range(3)]
        self._received = b""
        self._number = 0
        self._has_packages = os.path.exists(_PACKAGES)
        self._shell = Shell.make(directory)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.write(self._control, b"R")

    def import_ahead(self, modules: list[str]) -> None:
        """Import what blocks usually import, while nothing is asked for."""
        for name in modules:
            if select.select([self._control], [], [], 0)[0]:
                return
            with contextlib.suppress(Exception):
                importlib.import_module(name)

    def serve(self) -> None:
        """Do what is asked for until the socket ends."""
        while True:
            request = self._next()
            os.environ.update(request.get("env", {}))
            code = self._run(request["file"]) if "file" in request else self._reap()
            self._end_without_descriptors(code)
            if os.getpid() != self._own_pid:
                os._exit(code)  # a child that the block has forked comes to its end here, too
            try:
                os.write(self._control, bytes([code]) + bytes.fromhex(request["token"]))
            except OSError:
                os._exit(code)  # the block has closed it

    def _end_without_descriptors(self, code: int) -> None:
        """End where a block has used up all descriptors: no later one could run."""
        try:
            os.close(os.dup(self._control))
        except OSError as error:
            if error.errno != errno.EMFILE:
                return
            os.write(2, b"The kernel has no file descriptors left, and ends.\n")
            os._exit(code)

    def _next(self) -> dict[str, Any]:
        while b"\n" not in self._received:
            data = os.read(self._control, 65536)
            if not data:
                os._exit(0)
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        request: dict[str, Any] = json.loads(line)
        return request

    def _reap(self) -> int:
        """Let go of children that were killed when their block had ended."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return 0

    def _run(self, name: str) -> int:
        self._number += 1
        self._set_streams()
        path = os.path.join(self._directory, name)
        try:
            os.getcwd()
        except OSError:
            os.chdir(self._directory)
        sys.argv[:] = [name]
        self._add_packages()
        self._shell.user_ns["__file__"] = path
        importlib.invalidate_caches()
        error: BaseException | None = None
        try:
            with open(path, encoding="utf-8-sig") as file:
                source = file.read()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            error = self._shell.run(source, self._number)
        except BaseException as raised:
            error = raised
            sys.stderr.write(f"{type(raised).__name__}: {raised}\n")
        finally:
            _ignore_interrupts()
        code = _code_of(error)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                code = code or 120
        return code

    def _add_packages(self) -> None:
        """Find the packages that were granted since the kernel started, as a fresh interpreter would."""
        if not self._has_packages and os.path.exists(_PACKAGES):
            self._has_packages = True
            runpy.run_path(_PACKAGES)
            # For pip and other programs that a block starts.
            os.environ["PYTHONPATH"] = os.path.dirname(_PACKAGES)
            os.environ["PATH"] += ":/packages/tree/bin"

    def _set_streams(self) -> None:
        """Give the block the standard streams, whatever the one before did to them."""
        for number, kept in enumerate(self._standard):
            os.dup2(kept, number)
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8", "surrogateescape")
        for name, number in (("stdout", 1), ("stderr", 2)):
            stream = io.TextIOWrapper(
                io.FileIO(number, "w", closefd=False),  # unbuffered, as `python3 -u` has it
                "utf-8",
                "backslashreplace" if number == 2 else "surrogateescape",
                write_through=True,
            )
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def _ignore_interrupts() -> None:
    while signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        with contextlib.suppress(KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _code_of(error: BaseException | None) -> int:
    """The exit code that an interpreter would end with."""
    if error is None:
        return 0
    if isinstance(error, KeyboardInterrupt):
        return 128 + signal.SIGINT
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def main() -> None:
    """Be the kernel's process."""
    directory, *modules = sys.argv[1:]
    # gVisor sends it to a stopped process when a child of it ends.
    signal.signal(signal.SIGHUP, lambda *_: None)
    kernel = Main(directory)
    kernel.import_ahead(modules)
    os.chdir(directory)
    sys.path[0] = directory
    kernel.serve()
