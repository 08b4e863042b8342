"""A sandbox in words, for the banner and the generator's prompt."""

from __future__ import annotations

from sandbox.base import SandboxInfo
from sandbox.policy import SandboxPolicy
from utils.image_recipe import packages


def describe(policy: SandboxPolicy, languages: tuple[str, ...], granted: tuple[str, ...] = ()) -> SandboxInfo:
    """What a block may assume."""
    return SandboxInfo(
        runtime=f"docker ({policy.runtime or 'runc'})" + (", kernel" if policy.kernel else ""),
        languages=languages,
        packages=(*packages(), *granted),
        network=policy.network,
        limits={
            "memory": _size(policy.memory_mib),
            "processors": f"{policy.cpus:g}",
            "processes": str(policy.pids),
            "workspace": _size(policy.workspace_mib),
            "one file": _size(policy.file_size_mib),
            "output": f"{policy.output_kib} KiB",
            "time a block": f"{policy.timeout_s} s",
        },
        timeout_s=policy.timeout_s,
        state=policy.kernel,
        policy=policy.digest,
    )


def _size(mib: int) -> str:
    return f"{mib / 1024:g} GiB" if mib >= 1024 else f"{mib} MiB"
