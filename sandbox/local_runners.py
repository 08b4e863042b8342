"""AutoGen's local executors, started, cut off at a time limit or a cancel, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock

from sandbox.block_file import BlockFile
from sandbox.languages import Language
from sandbox.threads import in_thread
from utils.errors import SandboxError

if TYPE_CHECKING:
    from autogen_ext.code_executors.jupyter import JupyterCodeExecutor
    from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor

_CANCEL_GRACE_S = 0.7
_TIMEOUT_GRACE_S = 5.0
_STOP_S = 5.0
_NEVER_S = 86_400
TIMED_OUT, CANCELLED = 124, 125
"""Exit codes that AutoGen's command-line executor gives."""

Ran = tuple[int, str, tuple[str, ...]]
"""Exit code as AutoGen gives it, output, notes."""

_EXEC_PYTHON = """\
import os, sys
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.execv(sys.executable, [sys.executable, {name!r}])
"""


class Processes:
    """AutoGen's command-line executor. It is given two lines that become the block's own file.

    Given the block itself it would rewrite pip lines, and what runs must be what was approved.
    """

    def __init__(self, timeout_s: int, work_dir: Path) -> None:
        self._timeout_s = timeout_s
        self._work_dir = work_dir
        self._executor: LocalCommandLineCodeExecutor | None = None

    async def start(self) -> None:
        """Make AutoGen's executor."""
        from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of what the banner says in red
            self._executor = LocalCommandLineCodeExecutor(timeout=self._timeout_s, work_dir=self._work_dir)
        await self._executor.start()

    async def run(self, language: Language, code: str, file: BlockFile, token: CancellationToken) -> Ran:
        """Run one block."""
        assert self._executor is not None
        path = self._work_dir / file.name
        await in_thread(lambda: _write(path, code))
        if language.name == "python":
            launch = _EXEC_PYTHON.format(name=file.name)
        else:
            launch = f"exec {language.name} '{file.name}' </dev/null\n"
        work = asyncio.ensure_future(
            self._executor.execute_code_blocks([CodeBlock(code=launch, language=language.name)], CancellationToken())
        )
        try:
            if not await _until(work, token, self._timeout_s + _TIMEOUT_GRACE_S):
                # Cancelled so, and not by its token, AutoGen's executor ends the process.
                work.cancel()
                await asyncio.wait({work}, timeout=_CANCEL_GRACE_S)
                what = CANCELLED if token.is_cancelled() else TIMED_OUT
                return what, "", ("a process of the block may run on: this is no sandbox",)
            result = work.result()
            return result.exit_code, result.output, ()
        except UnicodeDecodeError:
            return 1, "", ("the output was not UTF-8, which AutoGen's local executor cannot read",)
        finally:
            if not file.named:
                with contextlib.suppress(OSError):
                    path.unlink()

    async def stop(self) -> None:
        """End what it has started."""
        if self._executor is not None:
            await self._executor.stop()


class Notebook:
    """AutoGen's Jupyter executor."""

    def __init__(self, timeout_s: int, work_dir: Path) -> None:
        self._timeout_s = timeout_s
        self._work_dir = work_dir
        self._executor: JupyterCodeExecutor | None = None

    async def start(self) -> None:
        """Start the kernel. Raises `SandboxError`."""
        from autogen_ext.code_executors.jupyter import JupyterCodeExecutor
        from nbclient import NotebookClient
        from nbformat.v4 import new_notebook

        # Its own limit would leave the cell running: here the kernel is interrupted first.
        executor = JupyterCodeExecutor(timeout=self._timeout_s + _NEVER_S, output_dir=self._work_dir)
        # As its `start` does, but in the work directory, and without the kernel's log in the user's terminal.
        notebook = new_notebook()  # type: ignore[no-untyped-call]  # nbformat is partly typed
        client = NotebookClient(nb=notebook, timeout=self._timeout_s + _NEVER_S, allow_errors=True)
        context = client.async_setup_kernel(cwd=str(self._work_dir.resolve()), stderr=subprocess.DEVNULL)
        try:
            await context.__aenter__()
        except Exception as error:
            hint = f"pip install ipykernel, and {sys.executable} -m ipykernel install --user"
            raise SandboxError(f"The local Jupyter kernel could not be started: {error}.", hint) from error
        executor._client, executor.kernel_context, executor._started = client, context, True
        self._executor = executor

    async def run(self, language: Language, code: str, file: BlockFile, token: CancellationToken) -> Ran:
        """Run one block. Where it has to be ended, the kernel is interrupted, or restarted if that does not help."""
        from autogen_ext.code_executors._common import silence_pip
        from jupyter_core.utils import ensure_async

        assert self._executor is not None
        if silence_pip(code, language.name) != code:
            note = "not run: AutoGen's Jupyter executor would change its pip line after it was approved"
            return 1, note, (note,)
        if file.named:
            await in_thread(lambda: _write(self._work_dir / file.name, code))
        block = CodeBlock(code=code, language=language.name)
        inner = CancellationToken()
        work = asyncio.ensure_future(self._executor.execute_code_blocks([block], inner))
        what, notes = 0, ("the kernel was interrupted, its variables are kept",)
        if not await _until(work, token, self._timeout_s):
            what = CANCELLED if token.is_cancelled() else TIMED_OUT
            client = self._executor._client
            if client is not None and client.km is not None:
                await ensure_async(client.km.interrupt_kernel())
            await asyncio.wait({work}, timeout=_CANCEL_GRACE_S)
        if work.done() and work.exception() is None:
            result = work.result()
            return (what, result.output, notes) if what else (result.exit_code, result.output, ())
        inner.cancel()
        await asyncio.wait({work})
        await self.stop()
        await self.start()
        why = "the block did not react to its interrupt" if what else "it ended with the block"
        return what or 1, "", (f"the kernel was restarted, its variables are gone: {why}",)

    async def stop(self) -> None:
        """End the kernel."""
        executor, self._executor = self._executor, None
        if executor is not None:
            with contextlib.suppress(Exception):  # a kernel that is gone is what is wanted
                await asyncio.wait_for(executor.stop(), _STOP_S)


async def _until(work: asyncio.Future[Any], token: CancellationToken, timeout_s: float) -> bool:
    """Wait for the work; False when the token was cancelled or the time was up first."""
    cancelled: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    token.link_future(cancelled)
    try:
        await asyncio.wait({work, cancelled}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        cancelled.cancel()
    return work.done()


def _write(path: Path, code: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()  # a link that has the name is not written through
    path.write_bytes(code.encode("utf-8", "surrogatepass"))
