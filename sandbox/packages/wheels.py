"""Wheels, fetched on the host for the container's Python. None of their code runs here: sdists are never taken."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from sandbox.packages.names import requirement
from sandbox.threads import in_thread
from utils.errors import RoundtableError
from utils.wheels import platforms, python_with_pip

POLL_S = 0.2
"""How often the size of what has come is looked at."""
_ENVIRONMENT = re.compile(
    r"(?i)PATH|HOME|USER|LANG|LC_\w+|XDG_\w+|PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NETRC|\w+_PROXY"
    r"|SYSTEMROOT|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMDATA"
)
"""Variables that pip's configuration may lie in; keys of models are none of its business."""
_PROGRAM = """\
import json, sys
from pip._vendor.packaging import markers
# What depends on the machine is asked about the container, not about this one.
markers.default_environment = lambda: json.loads({environment!r})
# A wheel may say that it needs a thing at an address: that is no choice of the index, and pip would build source code.
from pip._internal.distributions.sdist import SourceDistribution
from pip._internal.exceptions import InstallationError
from pip._internal.req.req_install import InstallRequirement
def refuse(*arguments, **options):
    raise InstallationError({refusal!r})
def make(self, req, *arguments, **options):
    refuse() if getattr(req, "url", None) else plain(self, req, *arguments, **options)
plain, InstallRequirement.__init__ = InstallRequirement.__init__, make
SourceDistribution.prepare_distribution_metadata = refuse
from pip._internal.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
_REFUSAL = "it needs something at an address, or source code, which is never built."
_UNREACHABLE = re.compile(
    r"Retrying \(|NewConnectionError|ConnectTimeout|Connection (?:refused|reset)|ProxyError|SSLError|Max retries"
    r"|name resolution|Could not fetch URL|HTTP error (?:4(?!04)|5)",
    re.IGNORECASE,
)


class NotFetchedError(RoundtableError):
    """The wheels cannot be had. The message is for the generator and the human."""


@dataclass(frozen=True)
class Target:
    """The Python that the wheels are for."""

    python: str
    """Version with two places: `3.12`."""
    machine: str
    """As `uname -m` says it: `x86_64`."""
    glibc_minor: int
    """N of glibc 2.N; 0 where the C library is another one: then only wheels that need none fit."""

    @property
    def environment(self) -> dict[str, str]:
        """What the markers of dependencies are compared with."""
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
        }


@dataclass(frozen=True)
class Request:
    """What is to be fetched."""

    requirements: tuple[str, ...]
    target: Target
    constraints: Mapping[str, str]
    """Versions that packages must have where they are needed: those that the container has."""
    size_bytes: int
    """Of all wheels together."""
    timeout_s: int


async def fetch(request: Request, *, cache: Path, environ: Mapping[str, str]) -> dict[str, tuple[str, Path]]:
    """Fetch the wheels and those they need into the cache: normalised name -> (version, path).

    What the constraints name in their very version is left out: the container has it. `environ`: pip's configuration is
    taken from it. Raises `NotFetchedError`. A cancel ends pip.
    """
    if named := [text for text in request.requirements if requirement(text) is None]:
        raise NotFetchedError(f"{', '.join(named)} names no package of an index.")
    pool = cache / "packages" / f"{request.target.python}-{request.target.machine}-{request.target.glibc_minor}"
    await in_thread(lambda: pool.mkdir(parents=True, exist_ok=True))
    scratch = Path(await in_thread(lambda: tempfile.mkdtemp(prefix="fetch-", dir=cache)))
    try:
        await _run_pip(request, pool, scratch, environ)
        return await in_thread(lambda: _keep(request, scratch / "wheels", pool))
    finally:
        await in_thread(lambda: shutil.rmtree(scratch, ignore_errors=True))


async def _run_pip(request: Request, pool: Path, scratch: Path, environ: Mapping[str, str]) -> None:
    target = request.target
    constraints = scratch / "constraints.txt"
    pins = "".join(f"{name}=={version}\n" for name, version in request.constraints.items())
    await in_thread(lambda: constraints.write_text(pins, encoding="utf-8"))
    python = await in_thread(lambda: python_with_pip(scratch))
    program = _PROGRAM.format(environment=json.dumps(target.environment), refusal=_REFUSAL)
    command = [python, "-I", "-c", program, "download", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "--only-binary=:all:", "--implementation=cp"]
    command += [f"--python-version={target.python}", "--retries=1", f"--find-links={pool}"]
    command += [f"--platform={name}" for name in platforms(target.machine, target.glibc_minor)]
    command += [f"--constraint={constraints}", f"--dest={scratch / 'wheels'}", "--", *request.requirements]
    env = {name: value for name, value in environ.items() if _ENVIRONMENT.fullmatch(name)}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        # Nothing lies there that pip could take for what is wanted.
        cwd=scratch,
        env=env | {"TMPDIR": str(scratch), "PYTHONWARNINGS": "ignore"},
        start_new_session=True,
    )
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    try:
        await asyncio.wait_for(_watched(process, scratch, request.size_bytes), request.timeout_s)
    except asyncio.TimeoutError:
        raise NotFetchedError(f"{_names(request)} could not be fetched within {request.timeout_s} s.") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        said = (await errors).decode("utf-8", "replace")
    if process.returncode:
        raise NotFetchedError(_reason(request, said))


async def _watched(process: asyncio.subprocess.Process, scratch: Path, size_bytes: int) -> None:
    """Wait for the end. Raises `NotFetchedError` as soon as more has come than may."""
    ended = asyncio.create_task(process.wait())
    try:
        while not (await asyncio.wait({ended}, timeout=POLL_S))[0]:
            # Twice: pip keeps what it downloads until it has copied it.
            if await in_thread(lambda: _size(scratch)) > 2 * size_bytes:
                raise NotFetchedError(_too_large(size_bytes))
    finally:
        ended.cancel()


def _keep(request: Request, wheels: Path, pool: Path) -> dict[str, tuple[str, Path]]:
    """Move the wheels into the cache and return those that the container lacks."""
    found: dict[str, tuple[str, Path]] = {}
    total = 0
    for path in sorted(wheels.iterdir()):
        try:
            name, version, _, _ = parse_wheel_filename(path.name)
        except InvalidWheelFilename as error:
            raise NotFetchedError(f"{path.name[:80]} is no wheel.") from error
        kept = pool / path.name
        os.replace(path, kept)
        if request.constraints.get(name) != str(version):
            found[name] = (str(version), kept)
            total += kept.stat().st_size
    if total > request.size_bytes:
        raise NotFetchedError(_too_large(request.size_bytes))
    return found


def _size(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def _too_large(size_bytes: int) -> str:
    return f"The packages are larger than {size_bytes >> 20} MiB, the limit of sandbox.yaml (packages: size_mib)."


def _names(request: Request) -> str:
    return ", ".join(request.requirements)


def _reason(request: Request, said: str) -> str:
    """Why pip failed, in words of our own: its output may hold addresses, with names and passwords in them."""
    if _REFUSAL in said:
        return f"{_names(request)} could not be fetched: {_REFUSAL}"
    if _UNREACHABLE.search(said):
        return f"{_names(request)} could not be fetched: the package index cannot be reached."
    if "conflicting dependencies" in said or "ResolutionImpossible" in said:
        return f"{_names(request)} needs other versions than the packages that the sandbox has, or than each other."
    missing = re.findall(r"No matching distribution found for ([A-Za-z0-9._\-\[\], <>=!~*+]+)", said)
    if missing:
        what = missing[-1].strip()
        return (
            f"There is no wheel of {what} for Python {request.target.python} on Linux {request.target.machine}: no "
            "such package or version, or only source code, which is never built."
        )
    return f"{_names(request)} could not be fetched: pip ended with an error."
