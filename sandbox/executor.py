"""The sandbox in Docker as AutoGen's executor: its arguments, its interface, its saved form."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, FunctionWithRequirements, FunctionWithRequirementsStr
from autogen_ext.code_executors._common import CommandLineCodeResult, build_python_functions_file
from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor
from autogen_ext.code_executors.docker._docker_code_executor import DockerCommandLineCodeExecutorConfig
from docker.types import DeviceRequest
from typing_extensions import Self

from sandbox.arguments import refuse
from sandbox.base import ExecutionResult
from sandbox.block_file import block_file
from sandbox.docker_sandbox import DockerSandbox
from sandbox.policy import SandboxPolicy
from utils.errors import SandboxError

_BY_ITSELF = "Nothing is installed by itself: use `install` first."

_log = logging.getLogger("sandbox")

Function = FunctionWithRequirements[Any, Any] | Callable[..., Any] | FunctionWithRequirementsStr


class DockerExecutorConfig(DockerCommandLineCodeExecutorConfig):
    """What a dumped executor keeps: AutoGen's fields and the policy."""

    image: str = ""
    policy: SandboxPolicy = SandboxPolicy()


class DockerExecutor(DockerSandbox, DockerCommandLineCodeExecutor):
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
        policy = policy.changed(**values)
        refuse(
            container_name=container_name,
            work_dir=work_dir,
            bind_dir=bind_dir,
            auto_remove=auto_remove,
            stop_container=stop_container,
            device_requests=device_requests,
            extra_volumes=extra_volumes,
            extra_hosts=extra_hosts,
            init_command=init_command,
            network=policy.network,
        )
        self._given_name = container_name or None
        container_name = container_name or f"roundtable-{uuid.uuid4().hex}"
        DockerCommandLineCodeExecutor.__init__(
            self,
            image=policy.image,
            container_name=container_name,
            timeout=policy.timeout_s,
            work_dir=work_dir,
            functions=list(functions),
            functions_module=functions_module,
            extra_hosts=extra_hosts,
            delete_tmp_files=delete_tmp_files,
        )
        # A later change of the program's directory must not change which one is meant.
        directory = self._work_dir.absolute() if self._work_dir else None
        DockerSandbox.__init__(self, policy, container_name, environ or {}, directory, extra_hosts or {})

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CommandLineCodeResult:
        """Run blocks in order up to the first that fails.

        `code_file` is the first block's file that is kept, by the name that the block gave itself; None where there is
        none. What stayed behind and what else is to be known of a run is logged as a warning of the logger `sandbox`.
        Raises `ValueError` for no blocks and for a language that the image lacks, and `SandboxError`.
        """
        self._check_running()
        if not self._setup_functions_complete:
            await self._setup_functions(cancellation_token)
        return await self._execute_code_dont_check_setup(code_blocks, cancellation_token)

    async def _execute_code_dont_check_setup(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CommandLineCodeResult:
        self._check_running()
        if not code_blocks:
            raise ValueError("No code blocks to execute.")
        outputs: list[str] = []
        kept: list[Path] = []
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
            _tell(result)
            if file.named:
                kept.extend(self._kept(file.name, result))
            if result.timed_out:
                outputs.append("\n Timeout")
            elif result.cancelled:
                outputs.append("Code execution was cancelled.")
            elif result.oom and exit_code != 0:
                outputs.append(f"\n Out of memory, of which there are {self.policy.memory_mib} MiB")
            if exit_code != 0:
                break
        return CommandLineCodeResult(
            exit_code=exit_code, output="".join(outputs), code_file=str(kept[0]) if kept else None
        )

    def _kept(self, name: str, result: ExecutionResult) -> list[Path]:
        """The file of a block that named itself, where it is in the work directory and is to stay there."""
        path = self.work_dir / name
        if self._delete_tmp_files and any(file.path == name and file.change == "new" for file in result.files):
            path.unlink(missing_ok=True)
        return [path] if path.is_file() else []

    def _check_running(self) -> None:
        if not self._running:
            raise ValueError("Container is not running. Must first be started with either start or a context manager.")

    async def stop(self) -> None:
        """Remove the container, and the work directory where it was a temporary one; cancels what runs or waits."""
        await super().stop()
        # They may have gone with the directory.
        self._setup_functions_complete = not self._functions

    async def _setup_functions(self, cancellation_token: CancellationToken) -> None:
        packages = {
            package
            for function in self._functions
            if isinstance(function, (FunctionWithRequirements, FunctionWithRequirementsStr))
            for package in function.python_packages
        }
        lacking = self.lacks(sorted(packages)) if self._knows_packages else ()
        if lacking:
            raise ValueError(f"Functions failed to load: they need {', '.join(lacking)}. {_BY_ITSELF}")
        code = f"# filename: {self._functions_module}.py\n{build_python_functions_file(self._functions)}"
        result = await self.run("python", code, cancellation_token=cancellation_token)
        if result.cancelled:
            return
        if result.exit_code != 0:
            needs = f"They need {', '.join(sorted(packages))}. {_BY_ITSELF}" if packages else ""
            raise ValueError(f"Functions failed to load: {result.output}{needs}")
        self._setup_functions_complete = True

    def _to_config(self) -> DockerExecutorConfig:
        return DockerExecutorConfig(
            image=self.policy.image,
            # Two that are loaded from one dump must not take the container from each other.
            container_name=self._given_name,
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


def _tell(result: ExecutionResult) -> None:
    """Log what AutoGen's result has no room for."""
    for note in result.notes:
        _log.warning("%s", note)
    if result.left_behind:
        _log.warning("stayed behind: %s", "; ".join(result.left_behind))
