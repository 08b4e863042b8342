"""Which sandbox the settings ask for, and that nobody gets none without having said so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sandbox.base import Sandbox
from sandbox.policy import SandboxPolicy
from utils.errors import ConfigurationError

LOCAL, LOCAL_KERNEL = "local", "local-kernel"
"""Values of `runtime` that mean this machine instead of a container."""


def is_local(policy: SandboxPolicy) -> bool:
    """Whether code would run on this machine itself."""
    return policy.runtime in (LOCAL, LOCAL_KERNEL)


def with_kernel(policy: SandboxPolicy) -> SandboxPolicy:
    """The same policy with an IPython kernel, which is warm by itself."""
    changes: dict[str, object] = {"kernel": True, "warm": False}
    if policy.runtime == LOCAL:
        changes["runtime"] = LOCAL_KERNEL
    return policy.changed(**changes)


def refuse_unless_known(policy: SandboxPolicy, i_know: bool) -> None:
    """Raise `ConfigurationError` for a local runtime that was not asked for on the command line, too."""
    if not i_know:
        raise ConfigurationError(
            f"{policy.file} says runtime: {policy.runtime}, which is no sandbox: code would run here as you.",
            "Remove the line, or say --i-know each time.",
        )


def open_sandbox(policy: SandboxPolicy, *, work_dir: Path, environ: Mapping[str, str], i_know: bool = False) -> Sandbox:
    """The sandbox of a policy, not yet started. Raises `ConfigurationError`."""
    if is_local(policy):
        from sandbox.local import LocalSandbox

        return LocalSandbox(with_kernel(policy) if policy.kernel else policy, work_dir=work_dir, i_know=i_know)
    from sandbox.executor import DockerExecutor

    return DockerExecutor(policy=policy, environ=environ, work_dir=work_dir)
