"""The kernel as the supervisor keeps it: asked for one block at a time, frozen between them, spared by the sweep."""

from __future__ import annotations

import os
import select
import time

from sandbox.inside import process
from sandbox.inside.lean import dumps, signal, socket, suppress

INTERRUPTS_S = {"timeout": (0.5, 0.5), "cancel": (0.25, 0.2)}
"""How long a block may go on after an interrupt, and after another, before the kernel is killed; the host waits 5 s and
0.7 s. A first one can be lost: Python drops what is raised in a destructor or a callback."""
_TOKEN_BYTES = 16
_SETTLE_S = 1.0
_ROUNDS = 3
_ACTIVITY = (b"State:", b"voluntary_ctxt_switches:", b"nonvoluntary_ctxt_switches:")
_DEAD = "ZX"
_STOPPED = "Tt"


class Kernel:
    """One kernel's process. It is a process of blocks: with their limits, their filter, and nothing that they lack."""

    def __init__(self, source: str, directory: str, modules: list[str], world: process.World) -> None:
        self._ours, theirs = socket.socketpair()
        argv = ["python3", "-c", source, directory, *modules]
        # From the root directory: nothing that a block left in the workspace can be imported before its first block.
        self.child = world.start(argv, "/", extra=theirs.fileno())
        theirs.close()
        self.child.end = os.dup(self._ours.fileno())
        self.ready = False
        self._world = world
        self._env = dict(world.env)
        self._used = False
        self._token = b""
        self._frozen: dict[str, list[bytes]] = {}
        """What its threads had done when they were frozen; empty while it may run."""

    def fileno(self) -> int:
        """Descriptor that can be read when it is ready or has ended."""
        return self._ours.fileno()

    def hear(self) -> bool:
        """Take what it says when it has started; False when it has ended instead."""
        self.ready = self._ours.recv(1) == b"R"
        return self.ready

    def alive(self) -> bool:
        """Whether it is there to be asked."""
        with suppress(OSError):
            state, parent = _look(self.child.pid)
            # One that a block has put under the supervisor as its tracer would stop at each signal, for good.
            return state not in _DEAD and parent == 1 and not self._is_traced() and self._peek() != b""
        return False

    def _is_traced(self) -> bool:
        with open(f"/proc/{self.child.pid}/status", "rb") as file:
            return any(line.startswith(b"TracerPid:") and line.split()[1] != b"0" for line in file)

    def _peek(self) -> bytes | None:
        try:
            return self._ours.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None

    def ask(self, name: str = "") -> None:
        """Let it run a block's file; without one, reap its children. Raises `OSError` where it is gone."""
        self._token = os.urandom(_TOKEN_BYTES)
        request: dict[str, object] = {"token": self._token.hex()}
        if name:
            # What a grant has changed since; the rest may be as a block has set it.
            changed = {word: value for word, value in self._world.env.items() if self._env.get(word) != value}
            self._env.update(changed)
            request.update(file=name, env=changed)
        self._used = self._used or bool(name)
        self.thaw()
        self._ours.sendall(dumps(request).encode() + b"\n")

    def confirms(self) -> bool:
        """Whether the end that it told was that of what it was asked last; its first byte was read already."""
        try:
            told = self._ours.recv(_TOKEN_BYTES + 1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        return told == self._token

    def interrupt(self) -> None:
        """Break off its block, as Ctrl-C does, and the processes that the block waits for."""
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGINT)
        for pid, (state, parent) in _processes().items():
            if parent == self.child.pid and state not in _DEAD:
                _kill(pid)

    def thaw(self) -> None:
        """Let it go on."""
        self._frozen = {}
        self._signal(signal.SIGCONT)

    def woke(self) -> bool:
        """Whether anything in it has run since it was frozen: a block can arrange for a SIGCONT beforehand."""
        return bool(self._frozen) and self._activity() != self._frozen

    def _activity(self) -> dict[str, list[bytes]]:
        """For each of its threads what changes when it runs: its state, and how often it was switched to and from."""
        found = {}
        with suppress(OSError):
            for name in os.listdir(f"/proc/{self.child.pid}/task"):
                with open(f"/proc/{self.child.pid}/task/{name}/status", "rb") as file:
                    found[name] = [line for line in file if line.startswith(_ACTIVITY)]
        return found

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.child.pid, number)

    def pause(self) -> None:
        """Let nothing go on in it, as long as a block runs elsewhere."""
        self._signal(signal.SIGSTOP)

    def idle(self) -> None:
        """Let it import ahead, as long as no block's threads are in it."""
        if not self._used:
            self.thaw()

    def sweep(self) -> tuple[dict[int, int], bool]:
        """Freeze the kernel and kill every other process. Returns wait statuses, and whether the kernel is still there.

        All are stopped at once before the first is killed, so that none can start another meanwhile.
        """
        ended: dict[int, int] = {}
        for _ in range(_ROUNDS):
            if not self._freeze(ended):
                return ended, False
            if not any(parent == self.child.pid for _, parent in _processes().values()):
                self._frozen = self._settled()
                return ended, True
            # The dead children of the kernel count as processes until it lets go of them.
            if not self._reap():
                return ended, False
        return ended, False

    def _freeze(self, ended: dict[int, int]) -> bool:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGSTOP)
        deadline = time.monotonic() + _SETTLE_S
        while time.monotonic() < deadline:
            ended.update(process.reap())
            living = {pid for pid, (state, _) in _processes().items() if state not in _DEAD}
            if self.child.pid not in living:
                return False
            others = [pid for pid in living if pid != self.child.pid and _kill(pid)]
            if not others and self._is_frozen():
                return True
            time.sleep(0.0005)
        return False

    def _settled(self) -> dict[str, list[bytes]]:
        # A thread counts as stopped a moment before it has been switched from.
        before = self._activity()
        while (now := self._activity()) != before:
            before = now
        return now

    def _is_frozen(self) -> bool:
        try:
            tasks = [_look(self.child.pid, int(name)) for name in os.listdir(f"/proc/{self.child.pid}/task")]
        except OSError:
            return False
        return all(state in _STOPPED + _DEAD for state, _ in tasks)

    def _reap(self) -> bool:
        poller = select.poll()
        poller.register(self._ours, select.POLLIN)
        with suppress(OSError):  # it is gone, or a block has shut the socket
            self.ask()
            return bool(poller.poll(_SETTLE_S * 1000)) and self._ours.recv(1) == b"\0" and self.confirms()
        return False

    def kill(self) -> dict[int, int]:
        """End it and every other process. Returns wait statuses."""
        return process.sweep()

    def close(self) -> None:
        """Close our ends of its pipes and socket."""
        self._ours.close()
        self.child.close()


def _kill(pid: int) -> bool:
    """Kill a process; False for one of another user, which no block can have started."""
    with suppress(ProcessLookupError):
        try:
            os.kill(pid, signal.SIGKILL)
        except PermissionError:
            return False
    return True


def _processes() -> dict[int, tuple[str, int]]:
    """State and parent of every process but this one."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            with suppress(OSError):
                found[int(name)] = _look(int(name))
    return found


def _look(pid: int, task: int | None = None) -> tuple[str, int]:
    """State and parent of a process or of one of its threads. Raises `OSError` where there is none."""
    with open(f"/proc/{pid}/stat" if task is None else f"/proc/{pid}/task/{task}/stat", "rb") as file:
        # The name before it may hold anything.
        state, parent = file.read().rpartition(b")")[2].split()[:2]
    return state.decode(), int(parent)
