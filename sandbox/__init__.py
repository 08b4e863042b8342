"""Where code runs: the Docker executor, the supervisor inside the container, the image."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.executor import DockerExecutor
    from sandbox.fake import FakeSandbox
    from sandbox.policy import SandboxPolicy, load_policy

__all__ = ["DockerExecutor", "FakeSandbox", "SandboxPolicy", "load_policy"]

_HOMES = {
    "DockerExecutor": "sandbox.executor",
    "FakeSandbox": "sandbox.fake",
    "SandboxPolicy": "sandbox.policy",
    "load_policy": "sandbox.policy",
}


def __getattr__(name: str) -> Any:
    # Late: AutoGen takes more than a second to import, and the supervisor's parts must not need it.
    if name not in _HOMES:
        raise AttributeError(f"module 'sandbox' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
