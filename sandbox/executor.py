"""The Docker executor: AutoGen's interface and `sandbox.base.Sandbox` over one hardened container."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, FunctionWithRequirements, FunctionWithRequirementsStr
from autogen_ext.code_executors._common import CommandLineCodeResult, build_python_functions_file
from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor
from autogen_ext.code_executors.docker._docker_code_executor import DockerCommandLineCodeExecutorConfig
from docker.types import DeviceRequest
from typing_extensions import Self

from safety import notebook
from sandbox import languages as table
from sandbox.arguments import refuse
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
from sandbox.work_dir import Limits, WorkDir
from utils.errors import SandboxError
from utils.image_recipe import image_name, packages
from utils.sandbox_image import cache_dir

Function = FunctionWithRequirements[Any, Any] | Callable[..., Any] | FunctionWithRequirementsStr


class DockerExecutorConfig(DockerCommandLineCodeExecutorConfig):
    """What a dumped executor keeps: AutoGen's fields and the policy."""

    image: str = ""
    policy: SandboxPolicy = SandboxPolicy()


class DockerExecutor(DockerCommandLineCodeExecutor):
    """Runs blocks in one warm, hardened container; takes the place of AutoGen's executor wherever that is taken.

    `policy` holds the limits; `image` and `timeout` (seconds), AutoGen's, stand over it where they are given. `environ`
    is what the variables named by the policy's `env` are taken from. AutoGen's other arguments mean what they mean
    there; those that would break a promise raise `ConfigurationError` with the reason.
    """

    component_config_schema = DockerExecutorConfig
    component_provider_override = "sandbox.executor.DockerExecutor"

    def __init__(
        self,
        image: str = "",
        container_name: str | None = None,
        *,
        policy: SandboxPolicy | None = None,
        environ: Mapping[str, str] | None = None,
        timeout: int | None = None,
        work_dir: Path | str | None = None,
        bind_dir: Path | str | None = None,
        auto_remove: bool = True,
        stop_container: bool = True,
        device_requests: list[DeviceRequest] | None = None,
        functions: Sequence[Function] = (),
        functions_module: str = "functions",
        extra_volumes: dict[str, dict[str, str]] | None = None,
        extra_hosts: dict[str, str] | None = None,
        init_command: str | None = None,
        delete_tmp_files: bool = False,
    ) -> None:
        policy = policy or SandboxPolicy()
        given = {"image": image or None, "timeout_s": timeout}
        values = {name: value for name, value in given.items() if value is not None}
        # Validated again: a limit out of range is refused here too.
        self.policy = SandboxPolicy.model_validate(policy.model_dump() | values)
        refuse(
            work_dir=work_dir,
            bind_dir=bind_dir,
            auto_remove=auto_remove,
            stop_container=stop_container,
            device_requests=device_requests,
            extra_volumes=extra_volumes,
            extra_hosts=extra_hosts,
            init_command=init_command,
            network=self.policy.network,
        )
        super().__init__(
            image=self.policy.image,
            container_name=container_name or f"roundtable-{uuid.uuid4().hex}",
            timeout=self.policy.timeout_s,
            work_dir=work_dir,
            functions=list(functions),
            functions_module=functions_module,
            extra_hosts=extra_hosts,
            delete_tmp_files=delete_tmp_files,
        )
        variables = environ or {}
        self._env = {name: variables[name] for name in self.policy.env if name in variables}
        self._box: Container | None = None
        self._host: WorkDir | None = None
        self._lock = asyncio.Lock()
        self._notes: list[str] = []
        self._left_out: frozenset[str] = frozenset()
        self._runs = 0
        self._planted = Planted()
        ours = self.policy.image in ("", image_name(self.policy.variant))
        self._shelf = Shelf(self.policy, packages() if ours else {}, variables, cache_dir())

    # -- Sandbox

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
        async with self._lock:
            await self._start()

    async def _start(self) -> None:
        if self._box is not None:
            return
        if self._work_dir is None and self._temp_dir is None:
            self._temp_dir = await in_thread(TemporaryDirectory)
        if self._host is None or self._host.path != self.work_dir:
            self._host = WorkDir(self.work_dir, Limits(self.policy.files_in_mib * MIB, self.policy.files_in))
        self._host.forget()
        self._planted.forget_stayed()
        self._box = await self._make(self.container_name, self.policy)
        self._running = True

    async def _make(self, name: str, policy: SandboxPolicy) -> Container:
        """A container with the packages that were granted."""
        box = await Container.start(name, policy, self._env)
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
            raise SandboxError("No block may have a network here.", "Set `network: ask` in sandbox.yaml.")
        if file.refusal:
            return ExecutionResult(exit_code=1, output=file.refusal, duration_s=0.0, notes=(file.refusal,))
        async with self._lock:
            if cancellation_token.is_cancelled():
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
                result = await run.run(language, code, file, cancellation_token, notes, left)
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
            return Installation(problem="Packages cannot be installed here (sandbox.yaml: packages: size_mib is 0).")
        work = asyncio.ensure_future(self._install(requirements))
        cancellation_token.link_future(work)
        return await work

    async def _install(self, requirements: Sequence[str]) -> Installation:
        async with self._lock:
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
        if known.name != "python":
            return told
        directory = self._work_dir or (Path(self._temp_dir.name) if self._temp_dir else None)
        return told + self._planted.warnings(code, file.name if file.named else "", directory)

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
        async with self._lock:
            if cancellation_token.is_cancelled():  # perhaps because the sandbox was stopped: it is not started again
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
                result = await run.run(language, code, file, cancellation_token, notes, left)
                self._planted.note(result.files, run.stayed)
                return result
            finally:
                if run.spoilt:
                    await self._discard(run.spoilt)

    async def _send_changes(self, box: Container, host: WorkDir) -> tuple[str, ...]:
        """Bring the workspace up to what the work directory holds; returns what is left out and was not yet told."""
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
        async with self._lock:
            await self._start()
            assert self._host is not None
            return tuple(await in_thread(partial(self._host.adopt, paths)))

    async def until_warm(self) -> None:
        """Wait until a kernel or warm process is ready for a Python block; for measuring. Raises `SandboxError`."""
        async with self._lock:
            await self._start()
            # A kernel says so once, before its first block.
            if (self.policy.warm or (self.policy.kernel and not self._runs)) and self._box is not None:
                await asyncio.wait_for(self._box.until_warm(), self.policy.start_timeout_s)

    async def stop(self) -> None:
        """Remove the container, and the work directory where it was a temporary one."""
        async with self._lock:
            box, self._box = self._box, None
            self._running = False
            self._notes = []
            if box is not None:
                await asyncio.shield(box.remove())
            directory, self._temp_dir = self._temp_dir, None
            if directory is not None:
                self._host = None
                with contextlib.suppress(OSError):
                    await in_thread(directory.cleanup)

    # -- AutoGen's

    async def restart(self) -> None:
        """Replace the container by a fresh one; the work directory stays."""
        async with self._lock:
            box, self._box = self._box, None
            if box is not None:
                await asyncio.shield(box.remove())
            await self._start()

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CommandLineCodeResult:
        """Run blocks in order up to the first that fails.

        Raises `ValueError` for no blocks and for a language that the image lacks, and `SandboxError`.
        """
        if not self._setup_functions_complete:
            await self._setup_functions(cancellation_token)
        return await self._execute_code_dont_check_setup(code_blocks, cancellation_token)

    async def _execute_code_dont_check_setup(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CommandLineCodeResult:
        if not self._running:
            raise ValueError("Container is not running. Must first be started with either start or a context manager.")
        if not code_blocks:
            raise ValueError("No code blocks to execute.")
        outputs: list[str] = []
        first: Path | None = None
        exit_code = 0
        for block in code_blocks:
            try:
                language = self._known(block.language)
            except SandboxError as error:
                raise ValueError(str(error)) from error
            file = block_file(block.code, language)
            result = await self._run(language, block.code, file, cancellation_token, None)
            outputs.append(result.output)
            exit_code = result.exit_code
            if first is None and not file.refusal:
                first = self.work_dir / file.name
            if result.timed_out:
                outputs.append("\n Timeout")
            elif result.cancelled:
                outputs.append("Code execution was cancelled.")
            if exit_code != 0:
                break
        return CommandLineCodeResult(
            exit_code=exit_code, output="".join(outputs), code_file=str(first) if first else None
        )

    async def _setup_functions(self, cancellation_token: CancellationToken) -> None:
        source = build_python_functions_file(self._functions)
        packages = {
            package
            for function in self._functions
            if isinstance(function, (FunctionWithRequirements, FunctionWithRequirementsStr))
            for package in function.python_packages
        }
        code = f"# filename: {self._functions_module}.py\n{source}"
        result = await self.run("python", code, cancellation_token=cancellation_token)
        if result.exit_code != 0:
            needs = f" They need {', '.join(sorted(packages))}; nothing is installed by itself." if packages else ""
            raise ValueError(f"Functions failed to load: {result.output}{needs}")
        self._setup_functions_complete = True

    def _to_config(self) -> DockerExecutorConfig:
        return DockerExecutorConfig(
            image=self.policy.image,
            container_name=self.container_name,
            timeout=self.policy.timeout_s,
            work_dir=str(self._work_dir) if self._work_dir else None,
            functions_module=self._functions_module,
            extra_hosts=self._extra_hosts,
            delete_tmp_files=self._delete_tmp_files,
            policy=self.policy,
        )

    @classmethod
    def _from_config(cls, config: DockerCommandLineCodeExecutorConfig) -> Self:
        fields = config.model_dump()
        policy = SandboxPolicy.model_validate(fields.pop("policy", {}))
        return cls(policy=policy, **fields)
