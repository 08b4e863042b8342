"""Whether a container is, seen from inside, what the policy promises. Checked at every start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.policy import MIB, SandboxPolicy

HOME = "/home/sandbox"
WORKSPACE = "/workspace"
PACKAGES = "/packages"
"""Where granted packages are: blocks read it, only the installer, another user, writes it."""
SLACK_BYTES = MIB
"""Memory limits and tmpfs sizes are rounded to pages."""


def places(policy: SandboxPolicy) -> dict[str, tuple[int, int]]:
    """The writable places: path -> (size in bytes, inodes)."""
    return {
        WORKSPACE: (policy.workspace_mib * MIB, policy.workspace_inodes),
        "/tmp": (policy.tmp_mib * MIB, policy.tmp_inodes),
        HOME: (policy.home_mib * MIB, policy.home_inodes),
        "/dev/shm": (policy.shm_mib * MIB, policy.shm_inodes),
    }


def is_gvisor(policy: SandboxPolicy) -> bool:
    """Whether the runtime is gVisor, whose kernel is its own: there seccomp reads 0 and inodes are not counted."""
    return "runsc" in policy.runtime


def processes(policy: SandboxPolicy) -> int:
    """The limit of processes as the engine is told it.

    gVisor has some of the host's threads for each process of its own, more with each block, and ends where it can have
    no more: there the limit of its own kernel is `pids`, and this one is for gVisor itself.
    """
    return _GVISOR_THREADS * policy.pids + 128 if is_gvisor(policy) else policy.pids


_GVISOR_THREADS = 32


def broken_promises(facts: Mapping[str, Any], policy: SandboxPolicy) -> list[str]:
    """What is not as promised, in words; a fact that is missing counts as broken."""
    broken = []
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        # gVisor knows no ambient set.
        if facts.get(name) != 0 and not (is_gvisor(policy) and name not in facts):
            broken.append(f"{name} is {facts.get(name)}, not 0")
    if facts.get("NoNewPrivs") != 1 and not (is_gvisor(policy) and "NoNewPrivs" not in facts):
        broken.append("new privileges can be gained")
    if facts.get("Seccomp") != 2 and not is_gvisor(policy):
        broken.append("no seccomp filter is on")
    if facts.get("restricted") is not True:
        broken.append(f"blocks cannot be given limits and a filter: {facts.get('restricted')}")
    if not facts.get("ids") or set(facts["ids"]) != {policy.user_id}:
        broken.append(f"the user and groups are {facts.get('ids')}, not {policy.user_id}")
    if facts.get("pid") != 1:
        broken.append("the supervisor is not the container's first process")
    # gVisor's statvfs has no flags, its table of mounts has.
    if facts.get("root_read_only") is not True and not (is_gvisor(policy) and "ro" in facts.get("root_mount", [])):
        broken.append("the root file system can be written")
    if facts.get("writable") != []:
        broken.append(f"other places can be written: {facts.get('writable')}")
    if facts.get("docker_socket") is not False:
        broken.append("the Docker socket is inside")
    if policy.network != "full" and facts.get("interfaces") != ["lo"]:
        broken.append(f"there are network interfaces: {facts.get('interfaces')}")
    if policy.network == "full" and facts.get("interfaces") == ["lo"]:
        # Not less safe, but what the block needs: gVisor may be registered with --network=none.
        broken.append("there is no network, which the runtime or the engine may have switched off")
    broken += _limits(facts, policy)
    return broken


def _limits(facts: Mapping[str, Any], policy: SandboxPolicy) -> list[str]:
    broken = []
    memory = facts.get("memory_bytes", 0)
    if not is_gvisor(policy) and not 0 < memory <= policy.memory_mib * MIB + SLACK_BYTES:
        broken.append(f"the memory limit is {memory} bytes, not {policy.memory_mib} MiB")
    pids = facts.get("pids", 0)
    if not is_gvisor(policy) and not 0 < pids <= policy.pids:
        broken.append(f"the limit of processes is {pids}, not {policy.pids}")
    tmpfs = facts.get("tmpfs", {})
    for path, (size, inodes) in places(policy).items():
        has = tmpfs.get(path, [0, 0, 0])
        if not has[2]:
            broken.append(f"{path} cannot be written")
        if not 0 < has[0] <= size + SLACK_BYTES:
            broken.append(f"{path} has {has[0]} bytes, not {size}")
        if not is_gvisor(policy) and not 0 < has[1] <= inodes:
            broken.append(f"{path} has {has[1]} inodes, not {inodes}")
    return broken
