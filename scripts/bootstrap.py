"""Set everything up: virtual environment, locked packages, Docker engine, sandbox image.

`bootstrap.py environment` makes the first two, `all` makes all four, `image-full` makes the image with all languages,
and `stop-engine` stops an engine that the set-up started. What is done already is found in a moment and left as it is.
"""

import os
import subprocess
import sys

if sys.version_info < (3, 10):  # noqa: UP036  an old one must be told what it lacks
    sys.exit(
        f"Roundtable needs Python 3.10 or newer; this is {sys.version_info[0]}.{sys.version_info[1]}: "
        "name a newer one, as in `make PYTHON=python3.12 run`"
    )
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from scripts.engine import ensure_engine, stop_engine
from scripts.environment import ensure_environment, venv_python
from scripts.host import ROOT, SetupError

NO_ENGINE = 3
"""Exit status of build_image.py when no engine answers."""


def ensure_image(*flags: str) -> None:
    """Build the sandbox image where it is not there, starting an engine first where none answers."""
    python = venv_python(ROOT / ".venv")
    command = [str(python), str(ROOT / "scripts/build_image.py"), *flags]
    status = subprocess.run([*command, "--quiet"], check=False).returncode
    if status == NO_ENGINE:
        ensure_engine(python)
        status = subprocess.run(command, check=False).returncode
    if status:
        raise SetupError("The sandbox image is not there: the message stands above.")


def main(arguments: list[str]) -> None:
    """Do one of the commands of the module's docstring."""
    if len(arguments) != 1 or arguments[0] not in {"environment", "all", "image-full", "stop-engine"}:
        sys.exit("usage: bootstrap.py environment | all | image-full | stop-engine")
    try:
        if arguments[0] == "stop-engine":
            stop_engine()
            return
        ensure_environment(ROOT / ".venv", ROOT / "requirements.txt")
        if arguments[0] != "environment":
            ensure_image(*(["--full"] if arguments[0] == "image-full" else []))
    except (SetupError, OSError) as error:
        sys.exit(f"setup: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main(sys.argv[1:])
