"""What a conversation finds in place: nothing left over of programs that died, and the sandbox image."""

from __future__ import annotations

import os
import sys

from utils.settings import Settings


def prepare_sandbox(settings: Settings) -> None:
    """Remove left-over containers, and build the program's own image where it is missing: minutes, with progress.

    An image that sandbox.yaml names is the user's to make; a local runtime has none, and that is said in red. Raises
    `SandboxError` and `ConfigurationError`.
    """
    from sandbox.choice import is_local, refuse_unless_known
    from sandbox.policy import load_policy
    from utils.docker_utils import ensure_image, remove_left_overs

    policy = load_policy(settings.sandbox_file)
    if is_local(policy):
        refuse_unless_known(policy, settings.i_know)
        _warn(f"{policy.runtime}: NO SANDBOX. Code runs on this machine, as you, with all your files and its network.")
        return
    remove_left_overs()
    if not policy.image:
        ensure_image(_report, policy.variant)


def _warn(text: str) -> None:
    """Say it in red, wherever output goes."""
    red, plain = ("\033[1;31m", "\033[0m") if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else ("", "")
    sys.stderr.write(f"{red}{text}{plain}\n")
    sys.stderr.flush()


def _report(text: str) -> None:
    sys.stderr.write(f"sandbox image: {' '.join(text.split())}\n")
    sys.stderr.flush()
