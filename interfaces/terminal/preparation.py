"""What a conversation finds in place: nothing left over of programs that died, and the sandbox image."""

from __future__ import annotations

import sys

from utils.settings import Settings


def prepare_sandbox(settings: Settings) -> None:
    """Remove left-over containers, and build the program's own image where it is missing: minutes, with progress.

    An image that sandbox.yaml names is the user's to make. Raises `SandboxError` and `ConfigurationError`.
    """
    from sandbox.policy import load_policy
    from utils.docker_utils import ensure_image, remove_left_overs

    policy = load_policy(settings.sandbox_file)
    remove_left_overs()
    if not policy.image:
        ensure_image(_report, policy.variant)


def _report(text: str) -> None:
    sys.stderr.write(f"sandbox image: {' '.join(text.split())}\n")
    sys.stderr.flush()
