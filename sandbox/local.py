"""AutoGen's local executors behind `sandbox.base.Sandbox`, for development: no sandbox at all, and they say so."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from autogen_core import CancellationToken

from sandbox import languages as table
from sandbox.base import ExecutionResult, FileChange, Installation, OnOutput, SandboxInfo
from sandbox.block_file import block_file
from sandbox.choice import LOCAL_KERNEL, refuse_unless_known
from sandbox.describe import describe
from sandbox.local_runners import CANCELLED, TIMED_OUT, Notebook, Processes
from sandbox.policy import MIB, SandboxPolicy
from sandbox.threads import in_thread
from sandbox.work_dir import Limits, WorkDir
from utils.errors import ConfigurationError

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
        self._runner: Processes | Notebook | None = None

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
            runner = (Notebook if self._kernel else Processes)(self._policy.timeout_s, self._work_dir)
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
        timed_out, cancelled = exit_code == TIMED_OUT, exit_code == CANCELLED
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
            f"runtime: local-kernel needs {' and '.join(missing)}.",
            "Install it: pip install 'autogen-ext[jupyter-executor]'",
        )
