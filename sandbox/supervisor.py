"""The container's main process: runs one block at a time, streams its output, and leaves nothing of it behind.

It is handed over as source text by `sandbox.bundle` and speaks the frames of `sandbox.inside.frames` over its standard
input and output. When its input ends the host is gone, and it ends, which ends the container.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from typing import Any

from sandbox.inside import files, frames, posture, process, seccomp, wipe
from sandbox.inside.files_out import FilesOut, Left
from sandbox.inside.kernel import Kernel
from sandbox.inside.kernel_blocks import KernelBlocks, KernelFailedError
from sandbox.inside.lean import signal
from sandbox.inside.link import Link
from sandbox.inside.output import Cap
from sandbox.inside.ready import Ready
from sandbox.inside.watch import Wake, Watch

_BUILD = "/tmp/build"  # emptied with /tmp after each block
_NOT_STARTED = 127  # as a shell has it


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

    def __init__(self, score: process.OutOfMemoryScore) -> None:
        self._link = Link()
        self._wake = Wake()
        self._config: dict[str, Any] = self._link.next_frame()[1]
        limits = process.Limits(*(self._config[name] for name in ("file_size_bytes", "open_files", "own_processes")))
        self._world = process.World(self._config["env"], limits, seccomp.Filter(self._config["gvisor"]), score)
        self._workspace = files.Workspace(self._config["workspace"])
        self._refused: Left = []
        self._state: list[Any] = []
        self._oom_kills = posture.OomKills()
        self._ready = Ready(self._link, self._world, self._config)
        self._kernel: KernelBlocks | None = None
        if self._config["kernel_source"]:
            self._kernel = KernelBlocks(self._make_kernel, self._config["start_timeout_s"])

    def _make_kernel(self) -> Kernel:
        return Kernel(self._config["kernel_source"], self._workspace.path, self._config["kernel_imports"], self._world)

    # -- the life

    def serve(self) -> None:
        """Report what the container is, then do what the host says until its input ends."""
        # First the report: what the engine has left out must not be hidden by what comes on top of it.
        facts = posture.report(self._config["commands"], self._config["writable"])
        try:
            self._world.restrict()
            facts["restricted"] = True
        except OSError as error:
            facts["restricted"] = str(error)
        self._state = posture.own_state()
        self._link.send(frames.READY, facts)
        self._clean()
        while True:
            if not self._link.has_frames:
                self._ready.wait(self._kernel)
            kind, fields, data = self._link.next_frame()
            if kind == frames.PUT:
                self._put(fields, data)
            elif kind == frames.REMOVE:
                for name in fields["paths"]:
                    self._workspace.remove(name)
            elif kind == frames.ENV:
                self._ready.end()
                self._config["env"].update(fields)
            elif kind == frames.RUN:
                self._run(fields, data)
                self._link.rest()
                self._clean()

    def _put(self, fields: dict[str, Any], data: bytes) -> None:
        name = fields["path"]
        if fields["first"]:
            self._refused = [entry for entry in self._refused if entry[0] != name]
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
            self._link.send(frames.FAULT, {"message": f"what a block left could not be removed: {error}"})

    def _sweep(self) -> dict[int, int]:
        return process.sweep() if self._kernel is None else self._kernel.sweep()

    # -- one block

    def _run(self, fields: dict[str, Any], code: bytes) -> None:
        started = time.monotonic()
        kills = self._oom_kills.count()
        cap = Cap(self._config["head_bytes"], self._config["tail_bytes"])
        watch = Watch(self._link, self._wake, cap)
        notes: list[str] = []
        left, self._refused = self._refused, []
        name = self._place(fields, code, notes)
        ended = self._stages(fields, name, watch, notes)
        duration = time.monotonic() - started
        watch.send_tail()
        if not fields["named"] and not name.startswith("/"):
            self._workspace.remove(name)
        spoilt = self._spoilt()
        try:
            told = FilesOut(self._link, self._workspace, self._config).send(left)
        except files.TooManyNamesError:
            told = {"gone": [], "left": [], "left_more": 0}
            spoilt = "the names of the files in the workspace take too much room to keep track of"
        self._link.send(
            frames.DONE,
            {
                **told,
                "id": fields["id"],
                "exit_code": ended.exit_code,
                "signal": ended.signal,
                "why": ended.why,
                "oom": self._oom_kills.count() > kills,
                "dropped": cap.dropped,
                "duration_s": duration,
                "notes": notes,
                "spoilt": spoilt,
            },
        )

    def _spoilt(self) -> str:
        """Why this container cannot be trusted any more; empty where it can."""
        if posture.own_state() != self._state:
            return "the block changed the limits of the sandbox's supervisor"
        if self._kernel is not None and self._kernel.woke:
            return "the kernel ran on, or was ended, while another block ran, whose result may be forged"
        return ""

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
        try:
            with open(name, "wb") as file:
                file.write(code)
        except OSError as error:
            notes.append(f"{name} could not be written: {error.strerror}")
        return name

    def _stages(self, fields: dict[str, Any], name: str, watch: Watch, notes: list[str]) -> Ended:
        """Compile the block where that is to be done, and run it."""
        is_python = fields["language"] == "python"
        if self._kernel is not None and not is_python:
            self._kernel.pause(notes, watch.drain)
        words = {"{file}": name, "{build}": _BUILD}
        warm = self._ready.take_warm(name if is_python else "")
        if self._kernel is not None and is_python:
            return self._run_in_kernel(self._kernel, name, fields, watch, notes)
        if fields["compile"]:
            os.makedirs(_BUILD, exist_ok=True)
            command = [_fill(word, words) for word in fields["compile"]]
            ended = self._process(command, fields["compile_timeout_s"], fields["id"], watch)
            if ended.exit_code or ended.why:
                return ended
        command = [_fill(word, words) for word in fields["run"]]
        return self._process(command, fields["timeout_s"], fields["id"], watch, warm)

    def _process(
        self, command: list[str], timeout_s: float, run: int, watch: Watch, warm: process.Child | None = None
    ) -> Ended:
        deadline = time.monotonic() + timeout_s
        try:
            child = warm or self._world.start(command, self._workspace.path)
        except OSError as error:
            watch.tell(f"cannot start {command[0]}: {error.strerror}\n")
            return Ended(_NOT_STARTED << 8)
        status, why = watch.until_end(child, deadline, run)
        # A warm process that has told its end is killed, and waited for when the host has its result.
        others = {} if why == "told" and process.kill_alone(child.pid) else self._sweep()
        watch.drain(child)
        child.close()
        return Ended(others.get(child.pid, 0) if status is None else status, why if why != "told" else "")

    def _run_in_kernel(
        self, kernel: KernelBlocks, name: str, fields: dict[str, Any], watch: Watch, notes: list[str]
    ) -> Ended:
        try:
            return Ended(*kernel.run(name, fields["id"], fields["timeout_s"], notes, watch.until_end, watch.drain))
        except KernelFailedError as error:
            self._link.send(frames.FAULT, {"message": str(error)})
            return Ended(signal.SIGKILL)


def _fill(word: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        word = word.replace(name, value)
    return word


def main() -> None:
    """Be the container's main process."""
    process.ignore_signals()
    score = process.OutOfMemoryScore()
    process.set_dumpable(False)
    try:
        Supervisor(score).serve()
    except frames.ForgedFrameError as error:
        sys.stderr.write(f"forged frame: {error}\n")
        os._exit(3)
