"""The program that installs wheels, run beside the supervisor as `python3 -I -c SOURCE` by a user of its own.

Blocks belong to another user: they can read what is installed and change nothing of it. The wheels come over the
standard input, a line of JSON before them; the answer is a line of JSON. It needs the image's pip and nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

_PLACE = "/packages"
_INCOMING = f"{_PLACE}/incoming"
_START = f"{_PLACE}/start"
_TREE = f"{_PLACE}/tree"
"""What wheels hold, files of their choice included: nothing of ours is in there."""
_TAIL_CHARS = 2000

_SITE = """\
import site, sys
if {start!r} in sys.path:
    sys.path.remove({start!r})
_before = list(sys.path)
site.addsitedir({packages!r})
_new = [path for path in sys.path if path not in _before]
# Behind Python's own modules, before the image's packages: what was asked for by version is what is imported.
_at = next((i for i, path in enumerate(_before) if path.endswith("-packages")), len(_before))
sys.path[:] = _before[:_at] + _new + _before[_at:]
"""
_UV = """\
#!/bin/sh
# `uv pip` where there is no uv: pip knows the same words.
[ "$1" = pip ] || { echo "uv: only 'uv pip' is here" >&2; exit 2; }
shift
for word; do
    shift
    [ "$word" = --system ] || set -- "$@" "$word"
done
exec python3 -m pip "$@"
"""


def _receive() -> list[str]:
    """Write the wheels that come over the standard input; returns their paths."""
    stream = sys.stdin.buffer
    paths = []
    os.makedirs(_INCOMING, exist_ok=True)
    for name, size in json.loads(stream.readline())["wheels"]:
        path = os.path.join(_INCOMING, os.path.basename(name))
        with open(path, "wb") as file:
            while size:
                data = stream.read(min(size, 1 << 20))
                if not data:
                    sys.exit("the wheels broke off")
                file.write(data)
                size -= len(data)
        paths.append(path)
    return paths


def _install(paths: list[str]) -> tuple[int, str]:
    command = [sys.executable, "-I", "-m", "pip", "install", "--no-index", "--no-deps", "--ignore-installed"]
    command += ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--no-warn-script-location"]
    command += ["--quiet", "--prefix", _TREE, *paths]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, (done.stderr or done.stdout)[-_TAIL_CHARS:]


def _arrange() -> None:
    """Let every Python that starts from now on find the packages."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = f"{_TREE}/lib/{version}/site-packages"
    os.makedirs(_START, exist_ok=True)
    with open(f"{_START}/sitecustomize.py", "w") as file:
        file.write(_SITE.format(start=_START, packages=packages))
    os.makedirs(f"{_TREE}/bin", exist_ok=True)
    uv = f"{_TREE}/bin/uv"
    if not os.path.exists(uv):
        with open(uv, "w") as file:
            file.write(_UV)
        os.chmod(uv, 0o755)


def main() -> None:
    """Install what comes in."""
    os.umask(0o022)
    os.environ["TMPDIR"] = os.environ["HOME"] = _INCOMING
    os.environ["PIP_CONFIG_FILE"] = os.devnull
    code, text = 1, ""
    try:
        code, text = _install(_receive())
        _arrange()
    except OSError as error:
        code, text = 1, str(error)
    finally:
        shutil.rmtree(_INCOMING, ignore_errors=True)
    sys.stdout.write("\n" + json.dumps({"exit_code": code, "text": text}) + "\n")


main()
