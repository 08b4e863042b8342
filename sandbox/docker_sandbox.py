"""The sandbox in Docker: one warm, hardened container a session, renewed where a block has spoilt it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from autogen_core import CancellationToken

from safety import notebook
from sandbox import languages as table
from sandbox.base import ExecutionResult, Installation, OnOutput, SandboxInfo
from sandbox.block_file import BlockFile, block_file
from sandbox.block_run import BlockRun
from sandbox.container import Container
from sandbox.describe import describe
from sandbox.inside import frames
from sandbox.packages.hand_in import NotInstalledError
from sandbox.packages.shelf import Shelf
from sandbox.packages.wheels import NotFetchedError
from sandbox.policy import MIB, SandboxPolicy
from sandbox.shadows import Planted
from sandbox.threads import in_thread
from sandbox.turns import Turns
from sandbox.work_dir import Limits, WorkDir
from utils.errors import SandboxError
from utils.image_recipe import image_name, packages
from utils.sandbox_image import cache_dir


class DockerSandbox:
    """`sandbox.base.Sandbox` in a container.

    `variables` is what those named by the policy's `env` are taken from; `hosts` are addresses by name, for blocks with
    a network. Without a `directory` the work directory is a temporary one, from start to stop.
    """

    def __init__(
        self,
        policy: SandboxPolicy,
        container_name: str,
        variables: Mapping[str, str],
        directory: Path | None,
        hosts: Mapping[str, str],
    ) -> None:
        self.policy = policy
        self.container_name = container_name
        self._directory = directory
        self._temporary: TemporaryDirectory[str] | None = None
        self._env = {name: variables[name] for name in policy.env if name in variables}
        self._hosts = hosts
        self._box: Container | None = None
        self._host: WorkDir | None = None
        self._turns = Turns()
        self._running = False
        self._notes: list[str] = []
        self._left_out: frozenset[str] = frozenset()
        self._runs = 0
        self._planted = Planted()
        self._knows_packages = policy.image in ("", image_name(policy.variant))
        self._shelf = Shelf(policy, packages() if self._knows_packages else {}, variables, cache_dir())

    @property
    def work_dir(self) -> Path:
        """Directory of the host where files come back. Raises `RuntimeError` before the start makes a temporary one."""
        if self._directory is not None:
            return self._directory
        if self._temporary is not None:
            return Path(self._temporary.name)
        raise RuntimeError("The sandbox has no work directory before its start.")

    @property
    def info(self) -> SandboxInfo:
        """What a block may assume."""
        return describe(self.policy, self._language_names, self._shelf.names)

    @property
    def languages(self) -> Mapping[str, str]:
        """Fence names with the language each means: those of the policy's image, after the start those it has."""
        return table.fence_names(self._language_names)

    @property
    def _language_names(self) -> tuple[str, ...]:
        return self._box.languages if self._box else table.in_image(self.policy.variant)

    async def start(self) -> None:
        """Make and check the container; nothing where it runs. Raises `SandboxError` and its kind."""
        async with self._turns.alone():
            await self._start()

    async def _start(self) -> None:
        if self._box is not None and self._box.loop is not asyncio.get_running_loop():
            await self._discard("the last one belongs to another event loop")
        if self._box is not None:
            return
        fresh = self._directory is None and self._temporary is None
        if fresh:
            self._temporary = await in_thread(TemporaryDirectory)
        try:
            await self._start_box()
        except BaseException:
            if fresh:
                await asyncio.shield(self._drop_temporary())
            raise
        self._turns.at_close(self.stop)  # as AutoGen's does, where nobody stops it before

    async def _start_box(self) -> None:
        if self._directory is not None:
            with _telling(self._directory):
                self._directory.mkdir(parents=True, exist_ok=True)
        if self._host is None or self._host.path != self.work_dir:
            self._host = WorkDir(self.work_dir, Limits(self.policy.files_in_mib * MIB, self.policy.files_in))
        self._host.forget()
        self._planted.forget_stayed()
        self._box = await self._make(self.container_name, self.policy)
        self._running = True

    async def _drop_temporary(self) -> None:
        directory, self._temporary = self._temporary, None
        if directory is not None:
            self._host = None
            with contextlib.suppress(OSError):
                await in_thread(directory.cleanup)

    async def _make(self, name: str, policy: SandboxPolicy) -> Container:
        """A container with the packages that were granted."""
        box = await Container.start(name, policy, self._env, self._hosts)
        if self._shelf.wheels:
            try:
                await box.install(self._shelf.wheels, policy)
            except BaseException as error:
                await asyncio.shield(box.remove())
                if isinstance(error, NotInstalledError):
                    raise SandboxError(f"The granted packages could not be installed again: {error}") from error
                raise
        return box

    async def run(
        self,
        language: str,
        code: str,
        *,
        cancellation_token: CancellationToken,
        on_output: OnOutput | None = None,
        network: bool = False,
    ) -> ExecutionResult:
        """Run one block, exactly these bytes. See `sandbox.base.Sandbox.run`."""
        known = self._known(language)
        if known.name == "python" and not self.policy.kernel and notebook.split(code):
            known = table.NOTEBOOK
        file = block_file(code, known)
        if network and self.policy.network != "full":
            return await self._run_with_network(known, code, file, cancellation_token, on_output)
        return await self._run(known, code, file, cancellation_token, on_output)

    async def _run_with_network(
        self,
        language: table.Language,
        code: str,
        file: BlockFile,
        cancellation_token: CancellationToken,
        on_output: OnOutput | None,
    ) -> ExecutionResult:
        """Run one block in a container beside the session's, which has a network and lives for this block alone."""
        if self.policy.network == "none":
            raise SandboxError("No block may have a network here.", f"Set `network: ask` in {self.policy.file}.")
        if file.refusal:
            return ExecutionResult(exit_code=1, output=file.refusal, duration_s=0.0, notes=(file.refusal,))
        async with self._turns.turn(cancellation_token) as token:
            if token.is_cancelled():
                return ExecutionResult(exit_code=130, output="", duration_s=0.0, cancelled=True)
            await self._start()
            assert self._host is not None
            host = self._host.beside()
            policy = self.policy.model_copy(update={"network": "full", "warm": False})
            box = await self._make(f"{self.container_name}-network", policy)
            try:
                self._runs += 1
                run = BlockRun(box, host, policy, self._runs, on_output)
                left = await self._send_changes(box, host)
                notes = (file.note,) if file.note else ()
                if policy.kernel and language.name == "python":
                    notes = (
                        *notes,
                        "it ran with a network and so beside the kernel, whose variables it neither saw nor set",
                    )
                result = await run.run(language, code, file, token, notes, left)
                self._planted.note(result.files)
                return result
            finally:
                host.abandon()
                await asyncio.shield(box.remove())

    def lacks(self, requirements: Sequence[str]) -> tuple[str, ...]:
        """Those of the requirements that neither the image nor what was granted meets."""
        return self._shelf.lacks(requirements)

    async def install(self, requirements: Sequence[str], *, cancellation_token: CancellationToken) -> Installation:
        """Fetch packages on the host and install them. See `sandbox.base.Sandbox.install`."""
        if not self.policy.packages.size_mib:
            return Installation(
                problem=f"Packages cannot be installed here ({self.policy.file}: packages: size_mib is 0)."
            )
        async with self._turns.turn(cancellation_token) as token:
            work = asyncio.ensure_future(self._install(requirements))
            token.link_future(work)
            return await work

    async def _install(self, requirements: Sequence[str]) -> Installation:
        await self._start()
        box = self._box
        assert box is not None
        try:
            wheels = await self._shelf.fetch(requirements, box.target)
        except NotFetchedError as error:
            return Installation(problem=str(error))
        installed = False
        try:
            await box.install([path for _, path in wheels.values()], self.policy)
            installed = True
        except NotInstalledError as error:
            return Installation(problem=f"{', '.join(requirements)} could not be installed: {error}")
        finally:
            if not installed:
                # Half of it may be there, and an installer still at work.
                await self._discard("an installation of packages was broken off")
        self._shelf.keep(wheels)
        return Installation(tuple(f"{name} {version}" for name, (version, _) in wheels.items()))

    def warnings(self, language: str, code: str) -> tuple[str, ...]:
        """What a human should know before this block runs: refused and shadowing names, imports of changed files."""
        known = table.find(language)
        if known is None:
            return ()
        file = block_file(code, known)
        told = tuple(text for text in (file.refusal, file.note) if text)
        there = self.work_dir if self._directory or self._temporary else None
        return told + self._planted.warnings(known.name, code, file.name if file.named else "", there)

    def _known(self, language: str) -> table.Language:
        return table.choose(language, self._language_names, self.policy.variant)

    async def _run(
        self,
        language: table.Language,
        code: str,
        file: BlockFile,
        cancellation_token: CancellationToken,
        on_output: OnOutput | None,
    ) -> ExecutionResult:
        if file.refusal:
            return ExecutionResult(exit_code=1, output=file.refusal, duration_s=0.0, notes=(file.refusal,))
        async with self._turns.turn(cancellation_token) as token:
            if token.is_cancelled():  # perhaps because the sandbox was stopped: it is not started again
                return ExecutionResult(exit_code=130, output="", duration_s=0.0, cancelled=True)
            await self._start()
            box, host = self._box, self._host
            assert box is not None
            assert host is not None
            notes = (*self._notes, *([file.note] if file.note else ()))
            self._notes = []
            self._runs += 1
            run = BlockRun(box, host, self.policy, self._runs, on_output)
            try:
                left = await self._send_changes(box, host)
                result = await run.run(language, code, file, token, notes, left)
                self._planted.note(result.files, run.stayed)
                return result
            finally:
                if run.spoilt:
                    await self._discard(run.spoilt)

    async def _send_changes(self, box: Container, host: WorkDir) -> tuple[str, ...]:
        """Bring the workspace up to what the work directory holds; returns what is left out and was not yet told."""
        with _telling(host.path):
            new, gone, left = host.changes() if self._runs > 1 and host.is_small else await in_thread(host.changes)
        self._planted.forget(gone)
        if gone:
            box.channel.send(frames.REMOVE, {"paths": gone})
        for name in new:
            pieces = host.read(name, frames.CHUNK_BYTES)
            while (piece := await in_thread(partial(next, pieces, None))) is not None:
                data, first, last, mtime_ns = piece
                box.channel.send(frames.PUT, {"path": name, "first": first, "last": last, "mtime_ns": mtime_ns}, data)
                await box.channel.drain()
        told, self._left_out = self._left_out, frozenset(left)
        return tuple(sorted(self._left_out - told))

    async def _discard(self, why: str) -> None:
        """Remove a container that cannot be trusted any more; the next block gets a fresh one."""
        box, self._box = self._box, None
        gone = ", and the kernel's variables are gone" if self.policy.kernel else ""
        self._notes.append(f"a fresh sandbox was started{gone}: {why}")
        if self._host is not None:
            self._host.abandon()
        if box is not None:
            await asyncio.shield(box.remove())

    async def put_files(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """Copy files and directories of the host into the work directory, and so into the workspace."""
        async with self._turns.alone():
            await self._start()
            assert self._host is not None
            return tuple(await in_thread(partial(self._host.adopt, paths)))

    async def until_warm(self) -> None:
        """Wait until a kernel or warm process is ready for a Python block; for measuring. Raises `SandboxError`."""
        async with self._turns.alone():
            await self._start()
            # A kernel says so once, before its first block.
            if (self.policy.warm or (self.policy.kernel and not self._runs)) and self._box is not None:
                await asyncio.wait_for(self._box.until_warm(), self.policy.start_timeout_s)

    async def stop(self) -> None:
        """Remove the container, and the work directory where it was a temporary one; cancels what runs or waits."""
        self._running = False
        self._turns.cancel()
        async with self._turns.alone():
            box, self._box = self._box, None
            self._running = False
            self._notes = []
            if box is not None:
                await asyncio.shield(box.remove())
            await self._drop_temporary()

    async def restart(self) -> None:
        """Replace the container by a fresh one; the work directory stays, and what runs or waits is cancelled."""
        self._turns.cancel()
        async with self._turns.alone():
            box, self._box = self._box, None
            if box is not None:
                await asyncio.shield(box.remove())
            await self._start()


@contextlib.contextmanager
def _telling(directory: Path) -> Iterator[None]:
    """What the system has against the work directory, as a `SandboxError`."""
    try:
        yield
    except OSError as error:
        raise SandboxError(
            f"The work directory {directory} cannot be used: {error.strerror or error}.", "It must be a directory."
        ) from error
