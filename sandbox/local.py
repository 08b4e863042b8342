"""AutoGen's local executors behind `sandbox.base.Sandbox`, for development: no sandbox at all, and they say so."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock

from sandbox import languages as table
from sandbox.base import ExecutionResult, FileChange, Installation, OnOutput, SandboxInfo
from sandbox.block_file import BlockFile, block_file
from sandbox.choice import LOCAL_KERNEL, refuse_unless_known
from sandbox.describe import describe
from sandbox.policy import MIB, SandboxPolicy
from sandbox.threads import in_thread
from sandbox.work_dir import Limits, WorkDir
from utils.errors import ConfigurationError, SandboxError

if TYPE_CHECKING:
    from autogen_ext.code_executors.jupyter import JupyterCodeExecutor
    from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor

_CANCEL_GRACE_S = 0.7
_TIMEOUT_GRACE_S = 5.0
_STOP_S = 5.0
_NEVER_S = 86_400
_TIMED_OUT, _CANCELLED = 124, 125
"""Exit codes that AutoGen's command-line executor gives."""

Files = dict[str, tuple[int, int, int]]


class LocalSandbox:
    """Runs blocks on this machine, as this user, with its network and all its files.

    `policy.runtime` is `local` (a process a block) or `local-kernel` (one Jupyter kernel). Raises `ConfigurationError`
    unless `i_know`, and where a package is missing that this needs.
    """

    def __init__(self, policy: SandboxPolicy, *, work_dir: Path, i_know: bool = False) -> None:
        refuse_unless_known(policy, i_know)
        self._policy = policy
        self._work_dir = work_dir
        self._kernel = policy.runtime == LOCAL_KERNEL
        if self._kernel:
            _need("nbclient", "ipykernel")
        wanted = ("python",) if self._kernel else ("python", *filter(shutil.which, ("bash", "sh")))
        self._names = tuple(wanted)
        self._runner: _Processes | _Notebook | None = None

    @property
    def info(self) -> SandboxInfo:
        """What a block may assume: nothing is limited but its time."""
        told = describe(self._policy, self._names)
        return replace(
            told,
            runtime=f"{self._policy.runtime}: NO SANDBOX, code runs on this machine as you",
            packages=tuple(name for name in told.packages if _is_here(name)),
            network="full",
            limits={"time a block": told.limits["time a block"]},
            state=self._kernel,
        )

    @property
    def languages(self) -> Mapping[str, str]:
        """Fence names with the language each means."""
        return table.fence_names(self._names)

    @property
    def work_dir(self) -> Path:
        """Directory in which blocks run."""
        return self._work_dir

    async def start(self) -> None:
        """Make the work directory and start AutoGen's executor. Raises `SandboxError`."""
        if self._runner is None:
            await in_thread(lambda: self._work_dir.mkdir(parents=True, exist_ok=True))
            runner = (_Notebook if self._kernel else _Processes)(self._policy.timeout_s, self._work_dir)
            await runner.start()
            self._runner = runner

    async def run(
        self,
        language: str,
        code: str,
        *,
        cancellation_token: CancellationToken,
        on_output: OnOutput | None = None,
        network: bool = False,
    ) -> ExecutionResult:
        """Run one block, which has this machine's network in any case.

        Its output comes when it has ended: AutoGen's local executors show nothing before.
        """
        known = table.choose(language, self._names, self._policy.variant)
        file = block_file(code, known)
        if cancellation_token.is_cancelled():
            return ExecutionResult(exit_code=130, output="", duration_s=0.0, cancelled=True)
        if file.refusal:
            return ExecutionResult(exit_code=1, output=file.refusal, duration_s=0.0, notes=(file.refusal,))
        await self.start()
        assert self._runner is not None
        loop = asyncio.get_running_loop()
        before = await in_thread(lambda: _files(self._work_dir))
        started = loop.time()
        exit_code, output, notes = await self._runner.run(known, code, file, cancellation_token)
        duration = loop.time() - started
        timed_out, cancelled = exit_code == _TIMED_OUT, exit_code == _CANCELLED
        if on_output is not None and output:
            on_output("stdout", output)
        kept = output if len(output) <= self._policy.output_kib << 10 else output[: self._policy.output_kib << 10]
        return ExecutionResult(
            exit_code=130 if cancelled else 128 - exit_code if exit_code < 0 else exit_code,
            output=kept,
            duration_s=duration,
            truncated=len(kept) < len(output),
            timed_out=timed_out,
            cancelled=cancelled,
            signal=-exit_code if exit_code < 0 else 0,
            files=await in_thread(lambda: tuple(_changes(self._work_dir, before))),
            notes=(*([file.note] if file.note else ()), *notes),
        )

    def warnings(self, language: str, code: str) -> tuple[str, ...]:
        """Nothing is known of what else lies on this machine."""
        return ()

    def lacks(self, requirements: Sequence[str]) -> tuple[str, ...]:
        """Nothing is asked for: packages of this machine are the user's own business."""
        return ()

    async def install(self, requirements: Sequence[str], *, cancellation_token: CancellationToken) -> Installation:
        """Refuse, for the same reason."""
        return Installation(problem=f"{self._policy.runtime} installs nothing: use pip yourself.")

    async def put_files(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """Copy files of the host into the work directory."""
        await self.start()
        limits = Limits(self._policy.files_in_mib * MIB, self._policy.files_in)
        return tuple(await in_thread(lambda: WorkDir(self._work_dir, limits).adopt(paths)))

    async def stop(self) -> None:
        """End the kernel, if there is one."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.stop()


Ran = tuple[int, str, tuple[str, ...]]
"""Exit code as AutoGen gives it, output, notes."""

_EXEC_PYTHON = """\
import os, sys
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.execv(sys.executable, [sys.executable, {name!r}])
"""


class _Processes:
    """AutoGen's command-line executor. It is given two lines that become the block's own file.

    Given the block itself it would rewrite pip lines, and what runs must be what was approved.
    """

    def __init__(self, timeout_s: int, work_dir: Path) -> None:
        self._timeout_s = timeout_s
        self._work_dir = work_dir
        self._executor: LocalCommandLineCodeExecutor | None = None

    async def start(self) -> None:
        from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of what the banner says in red
            self._executor = LocalCommandLineCodeExecutor(timeout=self._timeout_s, work_dir=self._work_dir)
        await self._executor.start()

    async def run(self, language: table.Language, code: str, file: BlockFile, token: CancellationToken) -> Ran:
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
                what = _CANCELLED if token.is_cancelled() else _TIMED_OUT
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
        if self._executor is not None:
            await self._executor.stop()


class _Notebook:
    """AutoGen's Jupyter executor."""

    def __init__(self, timeout_s: int, work_dir: Path) -> None:
        self._timeout_s = timeout_s
        self._work_dir = work_dir
        self._executor: JupyterCodeExecutor | None = None

    async def start(self) -> None:
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

    async def run(self, language: table.Language, code: str, file: BlockFile, token: CancellationToken) -> Ran:
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
            what = _CANCELLED if token.is_cancelled() else _TIMED_OUT
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


def _files(directory: Path) -> Files:
    """What lies there: regular files, hidden ones left out."""
    found: Files = {}
    for folder, folders, leaves in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in leaves:
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                status = path.stat()
                found[path.relative_to(directory).as_posix()] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def _changes(directory: Path, before: Files) -> list[FileChange]:
    after = _files(directory)
    changes = [FileChange(name, 0, change="deleted") for name in before if name not in after]
    for name, (_, size, _) in after.items():
        if before.get(name) != after[name]:
            digest = hashlib.sha256((directory / name).read_bytes()).hexdigest()
            changes.append(FileChange(name, size, digest, "changed" if name in before else "new"))
    return sorted(changes, key=lambda change: change.path)


def _is_here(package: str) -> bool:
    modules = {"pillow": "PIL", "python-dateutil": "dateutil"}
    return find_spec(modules.get(package, package.replace("-", "_"))) is not None


def _need(*modules: str) -> None:
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"runtime: local-kernel needs {' and '.join(missing)}.", "pip install 'autogen-ext[jupyter-executor]'"
        )
