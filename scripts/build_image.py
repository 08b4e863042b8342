"""Build the sandbox image where it is not there: `build_image.py [--full]`; `--ping` only asks for an engine."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from utils.docker_engine import NoEngineError, connect
from utils.errors import SandboxError
from utils.sandbox_image import ensure_image

NO_ENGINE = 3
"""Exit status when no engine is there: the caller may start one."""


def main(arguments: list[str]) -> int:
    """Exit status: 0 done, 1 the build failed, 2 bad usage, 3 no engine is there."""
    unknown = set(arguments) - {"--full", "--ping", "--quiet"}
    if unknown:
        print(f"build_image: unknown argument {sorted(unknown)[0]}", file=sys.stderr)
        return 2
    try:
        connect().close()
    except NoEngineError as error:
        if "--quiet" not in arguments:
            print(f"setup: {error}", file=sys.stderr)
        return NO_ENGINE
    except SandboxError as error:  # one is there, and refuses us or is silent: starting another would not help
        print(f"setup: {error}", file=sys.stderr)
        return 1
    if "--ping" in arguments:
        return 0
    started = time.monotonic()
    reported = False

    def report(text: str) -> None:
        nonlocal reported
        reported = True
        print(f"setup: [{time.monotonic() - started:4.0f} s] {text}", flush=True)

    try:
        name = ensure_image(report, "full" if "--full" in arguments else "default", may_ask=sys.stdin.isatty())
    except SandboxError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    if reported:
        report(f"the sandbox image is ready: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
