"""One block's run, as the host sees it: started, listened to, cut off where it must be."""

from __future__ import annotations

import asyncio
import errno
from functools import partial
from typing import Any

from autogen_core import CancellationToken

from sandbox.base import ExecutionResult, FileChange, OnOutput
from sandbox.block_file import BlockFile
from sandbox.container import Container
from sandbox.incoming import Incoming
from sandbox.inside import frames
from sandbox.languages import Language
from sandbox.policy import SandboxPolicy
from sandbox.result import Output
from sandbox.shadows import Stayed
from sandbox.threads import in_thread
from sandbox.work_dir import WorkDir
from utils.errors import SandboxError

CANCEL_GRACE_S = 0.7
"""How long the supervisor may take to stop a cancelled block before its container is killed instead."""
OUTER_GRACE_S = 5.0
"""How much later than the supervisor's the host's own time limit is."""
FILES_GRACE_S = 30.0
"""How long the return of files may pause."""
FILES_MIB_S = 1.0
"""How fast they come at least, all in all."""


class BlockRun:
    """Runs one block in a container. Used once."""

    def __init__(
        self, box: Container, host: WorkDir, policy: SandboxPolicy, number: int, on_output: OnOutput | None
    ) -> None:
        self._box = box
        self._host = host
        self._policy = policy
        self._number = number
        self._output = Output(on_output)
        self._files: list[FileChange] = []
        self._left: list[str] = []
        self._incoming = Incoming(policy)
        self.stayed = Stayed()
        """Names that the block left in the workspace and that did not come back."""
        self._deadline = 0.0
        self._last = 0.0
        self._done: dict[str, Any] | None = None
        self.spoilt = "the last block was broken off"
        """Why the container cannot be used again; empty when it can."""

    async def run(
        self,
        language: Language,
        code: str,
        file: BlockFile,
        cancellation_token: CancellationToken,
        notes: tuple[str, ...],
        left_out: tuple[str, ...],
    ) -> ExecutionResult:
        """Run it and wait for its end. Raises `SandboxError`; `spoilt` tells what is to become of the container."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        cancelled: asyncio.Future[None] = loop.create_future()
        cancellation_token.link_future(cancelled)
        if cancelled.cancelled():
            self.spoilt = ""
            return ExecutionResult(exit_code=130, output="", duration_s=0.0, cancelled=True, notes=notes)
        self._send(language, code, file)
        budget = self._policy.timeout_s + (self._policy.compile_timeout_s if language.compile else 0)
        self._deadline = started + budget + OUTER_GRACE_S
        self._last = self._deadline + FILES_GRACE_S + self._policy.files_out_mib / FILES_MIB_S
        listener = asyncio.ensure_future(self._listen())
        try:
            await self._wait(listener, cancelled)
        except asyncio.CancelledError:
            # The caller's task was cancelled, not the token: the block is stopped all the same.
            self._box.channel.send(frames.CANCEL, {"id": self._number})
            await asyncio.wait({listener}, timeout=CANCEL_GRACE_S)
            raise
        finally:
            if not listener.done():
                listener.cancel()
                await asyncio.wait({listener})
            elif not listener.cancelled() and listener.exception() is None:
                self.spoilt = ""
            cancelled.cancel()
        if self._done is None:
            if cancelled_by_token := cancellation_token.is_cancelled():
                self.spoilt = "the cancelled block did not stop in time, so its container was killed"
            elif not listener.cancelled():
                self.spoilt = "the container had failed"
                listener.result()
            else:
                self.spoilt = "the container did not answer any more"
                raise SandboxError(
                    "The sandbox did not end the block at its time limit.",
                    "It was thrown away; the next block gets a fresh one.",
                )
            return ExecutionResult(
                exit_code=130,
                output=self._output.text(),
                duration_s=loop.time() - started,
                cancelled=cancelled_by_token,
                files=tuple(self._files),
                notes=(*notes, self.spoilt),
            )
        return self._result(self._done, notes, left_out)

    def _send(self, language: Language, code: str, file: BlockFile) -> None:
        fields = {
            "id": self._number,
            "language": language.name,
            "file": file.name,
            "named": file.named,
            "run": language.run,
            "compile": language.compile,
            "timeout_s": self._policy.timeout_s,
            "compile_timeout_s": self._policy.compile_timeout_s,
        }
        self._box.channel.send(frames.RUN, fields, code.encode("utf-8", "surrogatepass"))

    async def _wait(self, listener: asyncio.Future[None], cancelled: asyncio.Future[None]) -> None:
        loop = asyncio.get_running_loop()
        while not listener.done():
            left_s = self._deadline - loop.time()
            if left_s <= 0:
                return
            await asyncio.wait({listener, cancelled}, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if cancelled.done() and not listener.done():
                self._box.channel.send(frames.CANCEL, {"id": self._number})
                await asyncio.wait({listener}, timeout=CANCEL_GRACE_S)
                return

    async def _listen(self) -> None:
        channel = self._box.channel
        loop = asyncio.get_running_loop()
        self._box.warm = False
        while True:
            kind, fields, data = await channel.receive()
            if kind == frames.OUTPUT:
                self._incoming.output(len(data))
                self._output.add(fields["stream"], data)
            elif kind == frames.CUT:
                self._incoming.cut()
                self._output.cut(fields["dropped"])
            elif kind == frames.FILE:
                self._deadline = max(self._deadline, min(loop.time() + FILES_GRACE_S, self._last))
                await self._take_file(fields, data)
            elif kind == frames.DONE:
                if fields["id"] != self._number:
                    raise SandboxError(
                        "The sandbox told the end of another block.",
                        "It was thrown away; the next block gets a fresh one.",
                    )
                self._done = fields
                return
            elif kind == frames.FAULT:
                raise SandboxError(
                    f"The sandbox failed: {fields['message']}.", "It was thrown away; the next block gets a fresh one."
                )

    async def _take_file(self, fields: dict[str, Any], data: bytes) -> None:
        name = fields["path"]
        self._incoming.count(name, len(data), fields["first"], fields["last"])
        try:
            change = await in_thread(partial(self._host.receive, name, data, fields["first"], fields["last"]))
        except KeyError:
            return  # a piece of a file that was refused at an earlier piece
        except OSError as error:
            self._left.append(f"{_shown(name)}: {_reason(error)}")
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise SandboxError(
                    f"{name} could not be saved in {self._host.path}: the disk is full.", "Make room and run it again."
                ) from error
            return
        if change is not None:
            self._files.append(change)

    def _result(self, done: dict[str, Any], notes: tuple[str, ...], left_out: tuple[str, ...]) -> ExecutionResult:
        left = [*self._left, *(f"{_shown(name)}: {reason}" for name, reason in done["left"])]
        self.stayed = Stayed(tuple(name for name, _ in done["left"]), done["left_more"], tuple(done["gone"]))
        for name in done["gone"]:
            change = self._host.delete(name)
            if change is not None:
                self._files.append(change)
            elif self._host.holds(name):
                left.append(f"{_shown(name)}: deleted in the sandbox; your own file is kept")
        if done["spoilt"]:
            self.spoilt = done["spoilt"]
            notes = (*notes, f"{self.spoilt}; the sandbox was thrown away")
        return ExecutionResult(
            exit_code=done["exit_code"],
            output=self._output.text(),
            duration_s=done["duration_s"],
            truncated=done["dropped"] > 0,
            timed_out=done["why"] == "timeout",
            oom=done["oom"],
            cancelled=done["why"] == "cancel",
            signal=done["signal"] if not done["why"] else 0,
            files=tuple(sorted(self._files, key=lambda change: change.path)),
            left_behind=_bounded([*left, *left_out], done["left_more"]),
            notes=(*notes, *done["notes"]),
        )


_MAX_LEFT = 50


def _bounded(left: list[str], more: int) -> tuple[str, ...]:
    more += max(0, len(left) - _MAX_LEFT)
    return (*left[:_MAX_LEFT], *([f"and {more} more"] if more else []))


def _shown(name: str) -> str:
    """A name as text: control characters and bytes that are no text are escaped."""
    if name.isprintable():
        return name if len(name) <= 120 else f"{name[:100]}...{name[-17:]}"
    return ascii(name)[1:-1][:200]


def _reason(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a link, or something that is not a file, has this name on the host"
    return error.strerror or str(error)
