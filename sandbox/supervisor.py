"""The container's main process: runs one block at a time, streams its output, and leaves nothing of it behind.

It is handed over as source text by `sandbox.bundle` and speaks the frames of `sandbox.inside.frames` over its standard
input and output. When its input ends the host is gone, and it ends, which ends the container.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import sys
import time
from typing import Any

from sandbox.inside import files, frames, posture, process, seccomp, wipe
from sandbox.inside.kernel import Kernel
from sandbox.inside.kernel_blocks import KernelBlocks, KernelFailedError
from sandbox.inside.output import Cap
from sandbox.inside.warm import IDLE_S, Warm

_BUILD = "/tmp/build"  # emptied with /tmp after each block


class Ended:
    """How a process ended."""

    def __init__(self, status: int, why: str = "") -> None:
        self.why = why
        """Empty, `timeout` or `cancel`."""
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        code = 128 + self.signal if self.signal else os.WEXITSTATUS(status)
        self.exit_code = {"timeout": 124, "cancel": 130}.get(why, code)


class Supervisor:
    """One container's life, from the host's first frame to the end of its input."""

    def __init__(self) -> None:
        key = _read_exactly(frames.KEY_BYTES)
        self._sender = frames.Sender(key, b"inside")
        self._receiver = frames.Receiver(key, b"host")
        self._waiting: list[tuple[int, bytes]] = []
        self._cancelled: set[int] = set()
        wake_read, self._wake_write = os.pipe()
        self._wake = wake_read
        for descriptor in (wake_read, self._wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        config = self._next_frame()[1]
        self._config: dict[str, Any] = frames.split_json(config)[0]
        limits = process.Limits(self._config["file_size_bytes"], self._config["open_files"])
        self._world = process.World(self._config["env"], limits, seccomp.Filter())
        self._workspace = files.Workspace(self._config["workspace"])
        self._refused: list[tuple[str, str]] = []
        self._state = posture.own_state()
        self._stand_by: process.StandBy | None = None
        self._warm: Warm | None = None
        self._warm_delay_s = 0.0
        self._kernel: KernelBlocks | None = None
        if self._config["kernel_source"]:
            self._kernel = KernelBlocks(self._make_kernel, self._config["start_timeout_s"])

    # -- frames

    def _send(self, kind: int, fields: dict[str, Any], data: bytes = b"") -> None:
        _write_all(self._sender.frame(kind, frames.with_json(fields, data)))

    def _read(self) -> None:
        data = os.read(0, 1 << 20)
        if not data:
            os._exit(0)
        for kind, payload in self._receiver.feed(data):
            if kind == frames.CANCEL:
                self._cancelled.add(frames.split_json(payload)[0]["id"])
            else:
                self._waiting.append((kind, payload))

    def _next_frame(self) -> tuple[int, bytes]:
        while not self._waiting:
            self._read()
        return self._waiting.pop(0)

    # -- the kernel, or the warm process

    def _make_kernel(self) -> Kernel:
        return Kernel(self._config["kernel_source"], self._workspace.path, self._config["kernel_imports"], self._world)

    def _idle(self) -> None:
        """Wait for the host; meanwhile make ready what the next block starts with."""
        if self._kernel is not None:
            self._idle_with_kernel(self._kernel.prepare())
            return
        if self._stand_by is None and not (self._warm and self._warm.ready):
            self._stand_by = process.StandBy(self._world, self._workspace.path)
        poller = select.poll()
        poller.register(0, select.POLLIN)
        if self._config["warm"] and self._warm is None and not poller.poll(self._warm_delay_s * 1000):
            self._warm_delay_s = IDLE_S
            self._warm = Warm(self._config["warm_source"], self._config["warm"], self._world)
        if self._warm is not None and not self._warm.ready:
            poller.register(self._warm, select.POLLIN)
        while not any(descriptor == 0 for descriptor, _ in poller.poll()):
            if self._warm is not None:
                poller.unregister(self._warm)
                if self._warm.hear():
                    self._end_stand_by()
                    self._send(frames.IDLE, {"warm": True})

    def _idle_with_kernel(self, kernel: Kernel) -> None:
        poller = select.poll()
        poller.register(0, select.POLLIN)
        if not kernel.ready:
            poller.register(kernel, select.POLLIN)
        while not any(descriptor == 0 for descriptor, _ in poller.poll()):
            poller.unregister(kernel)
            if kernel.hear():
                self._send(frames.IDLE, {"warm": True})

    def _end_stand_by(self) -> None:
        if self._stand_by is not None:
            self._stand_by.kill()
            self._stand_by = None

    def _take_warm(self, name: str) -> process.Child | None:
        """The warm process as that of a Python block, if there is one that is ready; in any case there is none then."""
        warm, self._warm = self._warm, None
        if warm is None:
            return None
        if name and warm.ready:
            return warm.become(name)
        warm.kill()
        return None

    # -- the life

    def serve(self) -> None:
        """Report what the container is, then do what the host says until its input ends."""
        self._send(frames.READY, posture.report(self._config["commands"], self._config["writable"]))
        self._clean()
        while True:
            if not self._waiting:
                self._idle()
            kind, payload = self._next_frame()
            fields, data = frames.split_json(payload)
            if kind == frames.PUT:
                self._put(fields, data)
            elif kind == frames.REMOVE:
                for name in fields["paths"]:
                    self._workspace.remove(name)
            elif kind == frames.FLUSH:
                self._send(frames.FLUSHED, {"refused": self._refused})
                self._refused = []
            elif kind == frames.ENV:
                # What is ready was started with the former variables.
                self._end_stand_by()
                self._take_warm("")
                self._config["env"].update(fields)
            elif kind == frames.RUN:
                self._run(fields, data)
                self._clean()

    def _put(self, fields: dict[str, Any], data: bytes) -> None:
        name = fields["path"]
        if any(name == refused for refused, _ in self._refused):
            return
        try:
            self._workspace.put(name, data, fields["first"], fields["last"], fields["mtime_ns"])
        except OSError as error:
            self._refused.append((name, error.strerror or str(error)))

    def _clean(self) -> None:
        try:
            self._sweep()
            wipe.directories(self._config["wiped"], self._config["home_skeleton"])
            wipe.shared_memory()
        except OSError as error:
            self._send(frames.FAULT, {"message": f"what a block left could not be removed: {error}"})

    def _sweep(self) -> dict[int, int]:
        return process.sweep() if self._kernel is None else self._kernel.sweep()

    # -- one block

    def _run(self, fields: dict[str, Any], code: bytes) -> None:
        started = time.monotonic()
        kills = posture.oom_kills()
        cap = Cap(self._config["head_bytes"], self._config["tail_bytes"])
        notes: list[str] = []
        left: list[tuple[str, str]] = self._refused
        self._refused = []
        name = self._place(fields, code, notes)
        if self._kernel is not None and fields["language"] != "python":
            self._kernel.pause()
        words = {"{file}": name, "{build}": _BUILD}
        warm = self._take_warm(name if fields["language"] == "python" else "")
        ended = Ended(0)
        stage = "run"
        if fields["compile"]:
            stage = "compile"
            os.makedirs(_BUILD, exist_ok=True)
            ended = self._process(fields["compile"], words, fields["compile_timeout_s"], fields["id"], cap)
        if self._kernel is not None and fields["language"] == "python":
            ended = self._run_in_kernel(self._kernel, name, fields, cap, notes)
        elif not fields["compile"] or (ended.exit_code == 0 and not ended.why):
            stage = "run"
            ended = self._process(fields["run"], words, fields["timeout_s"], fields["id"], cap, warm)
        duration = time.monotonic() - started
        if cap.tail():
            self._send(frames.CUT, {"dropped": cap.dropped})
            for stream, data in cap.tail():
                self._send(frames.OUTPUT, {"stream": stream}, data)
        if not fields["named"] and not name.startswith("/"):
            self._workspace.remove(name)
        gone = self._send_files(left)
        self._send(
            frames.DONE,
            {
                "id": fields["id"],
                "exit_code": ended.exit_code,
                "signal": ended.signal,
                "why": ended.why,
                "stage": stage,
                "oom": posture.oom_kills() > kills,
                "dropped": cap.dropped,
                "duration_s": duration,
                "gone": gone,
                "left": left,
                "notes": notes,
                "file": name if fields["named"] else "",
                "tampered": posture.own_state() != self._state,
            },
        )

    def _place(self, fields: dict[str, Any], code: bytes, notes: list[str]) -> str:
        """Write the block's code; returns the name of the file, in the workspace or, where that is full, in /tmp."""
        name: str = fields["file"]
        if not fields["named"]:
            stem, dot, ending = name.partition(".")
            number = 1
            while self._workspace.exists(name):
                number += 1
                name = f"{stem}_{number}{dot}{ending}"
        try:
            self._workspace.put(name, code, first=True, last=True)
            if fields["named"]:
                # Not known yet: so it comes back to the host with what the block makes.
                self._workspace.forget(name)
            return name
        except OSError as error:
            if error.errno != errno.ENOSPC:
                notes.append(f"{name} could not be written: {error.strerror}")
            else:
                notes.append("the workspace is full: the block ran outside it, delete files to make room")
        name = "/tmp/" + os.path.basename(name)
        with open(name, "wb") as file:
            file.write(code)
        return name

    def _process(
        self,
        argv: list[str],
        words: dict[str, str],
        timeout_s: float,
        run: int,
        cap: Cap,
        warm: process.Child | None = None,
    ) -> Ended:
        command = [_fill(word, words) for word in argv]
        deadline = time.monotonic() + timeout_s
        child = warm or self._start(command)
        status, why = self._watch(child, deadline, run, cap)
        # A warm process that has told its end is killed, and waited for when the host has its result.
        others = {} if why == "told" and process.kill_alone(child.pid) else self._sweep()
        self._drain(child, cap)
        child.close()
        return Ended(others.get(child.pid, 0) if status is None else status, why if why != "told" else "")

    def _run_in_kernel(
        self, kernel: KernelBlocks, name: str, fields: dict[str, Any], cap: Cap, notes: list[str]
    ) -> Ended:
        def watch(child: process.Child, deadline: float, run: int) -> tuple[int | None, str]:
            return self._watch(child, deadline, run, cap)

        try:
            run, timeout_s = fields["id"], fields["timeout_s"]
            return Ended(*kernel.run(name, run, timeout_s, notes, watch, lambda child: self._drain(child, cap)))
        except KernelFailedError as error:
            self._send(frames.FAULT, {"message": str(error)})
            return Ended(signal.SIGKILL)

    def _start(self, command: list[str]) -> process.Child:
        stand_by, self._stand_by = self._stand_by, None
        if stand_by is not None:
            try:
                return stand_by.go(command)
            except OSError:  # it was killed, for want of memory perhaps
                stand_by.kill()
        return process.start(command, self._world, self._workspace.path)

    def _watch(self, child: process.Child, deadline: float, run: int, cap: Cap) -> tuple[int | None, str]:
        """Pass on output until the process has ended (its wait status, perhaps `told`) or must be ended (the reason).

        The end of the process counts, not that of its output: a daemon may hold the pipe for ever.
        """
        poller = select.poll()
        for descriptor in (0, self._wake, *child.pipes, *([] if child.end is None else [child.end])):
            poller.register(descriptor, select.POLLIN)
        while True:
            left_s = deadline - time.monotonic()
            if run in self._cancelled:
                return None, "cancel"
            if left_s <= 0:
                return None, "timeout"
            for descriptor, _ in poller.poll(left_s * 1000 + 1):
                if descriptor == 0:
                    self._read()
                elif descriptor == self._wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake, 4096)
                    ended = process.reap()
                    if child.pid in ended:
                        return ended[child.pid], ""
                elif descriptor == child.end:
                    code = os.read(descriptor, 1)
                    if code:
                        return code[0] << 8, "told"
                    poller.unregister(descriptor)
                elif not self._pass_on(descriptor, child.pipes[descriptor], cap):
                    poller.unregister(descriptor)

    def _drain(self, child: process.Child, cap: Cap) -> None:
        for descriptor, stream in child.pipes.items():
            while self._pass_on(descriptor, stream, cap):
                pass

    def _pass_on(self, descriptor: int, stream: int, cap: Cap) -> bool:
        """Read a piece of output and send what fits; False at its end."""
        try:
            data = os.read(descriptor, 65536)
        except BlockingIOError:
            return False
        now = cap.take(stream, data)
        if now:
            self._send(frames.OUTPUT, {"stream": stream}, now)
        return bool(data)

    def _send_files(self, left: list[tuple[str, str]]) -> list[str]:
        """Send what the block made or changed, within the limits; returns the names of what is gone."""
        room = self._config["files_out_bytes"]
        count = self._config["files_out"]
        changed, gone = self._workspace.changes(left)
        for name, size in changed:
            if size > self._config["file_out_bytes"]:
                left.append((name, f"{size} bytes, over the limit of {self._config['file_out_bytes']} for one file"))
            elif size > room:
                left.append((name, f"{size} bytes, over what is left of the limit for one block"))
            elif count == 0:
                left.append((name, f"more than {self._config['files_out']} files"))
            else:
                room -= size
                count -= 1
                self._send_file(name, size, left)
        return gone

    def _send_file(self, name: str, size: int, left: list[tuple[str, str]]) -> None:
        first = True
        sent = 0
        try:
            for data in self._workspace.read(name, frames.CHUNK_BYTES):
                self._send(frames.FILE, {"path": name, "first": first, "last": False}, data)
                first = False
                sent += len(data)
        except OSError as error:
            left.append((name, error.strerror or "unreadable"))
            return
        self._send(frames.FILE, {"path": name, "first": first, "last": True, "size": sent})


def _fill(word: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        word = word.replace(name, value)
    return word


def _read_exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


def _write_all(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def main() -> None:
    """Be the container's main process."""
    process.ignore_signals()
    process.set_dumpable(False)
    try:
        Supervisor().serve()
    except frames.ForgedFrameError as error:
        sys.stderr.write(f"forged frame: {error}\n")
        os._exit(3)
