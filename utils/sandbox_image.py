"""The sandbox image: is it there, and if not, build it."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from utils import base_image
from utils.docker_engine import connect
from utils.errors import SandboxError
from utils.file_lock import file_lock
from utils.image_recipe import RECIPE_DIR, RECIPE_FILES, Variant, image_name, languages, packages
from utils.wheels import fetch_wheels

if TYPE_CHECKING:
    import docker

STAGE_LABEL = "roundtable.stage"
"""Marks what a build leaves behind: its first stage, which the image does not need."""


def ensure_image(on_progress: Callable[[str], None], variant: Variant = "default", *, may_ask: bool = False) -> str:
    """Give the name of the sandbox image, building it first where it is not there (minutes, with progress).

    `may_ask`: sudo may ask for a password on the terminal. Raises `SandboxError`.
    """
    from docker.errors import DockerException

    client = connect()
    try:
        name = image_name(variant)
        if _is_there(client, name):
            return name
        cache = cache_dir()
        with file_lock(cache / "image.lock", lambda: on_progress("waiting for another program that builds the image")):
            if not _is_there(client, name):
                _build(client, name, variant, on_progress, cache, may_ask=may_ask)
        return name
    except (DockerException, OSError) as error:
        raise SandboxError(f"The sandbox image could not be built: {error}.", "Try again with `make image`.") from error
    finally:
        client.close()


def cache_dir() -> Path:
    """Directory for what can be fetched or made again: base images, wheels."""
    from platformdirs import user_cache_path

    return user_cache_path("roundtable", appauthor=False)


def _is_there(client: docker.DockerClient, name: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def _build(
    client: docker.DockerClient,
    name: str,
    variant: Variant,
    on_progress: Callable[[str], None],
    cache: Path,
    *,
    may_ask: bool,
) -> None:
    base = base_image.ensure_base(client, variant, on_progress, cache, may_ask=may_ask)
    python, machine = _python_of(client, base)
    on_progress(f"fetching wheels for Python {python} on {machine}")
    wheels = fetch_wheels(python, machine, cache)
    on_progress(f"building {name}")
    labels = {
        "roundtable.languages": ",".join(language.name for language in languages(variant)),
        "roundtable.packages": ",".join(f"{package}={version}" for package, version in packages().items()),
    }
    try:
        with _context(wheels) as context:
            steps = client.api.build(
                fileobj=context,
                custom_context=True,
                tag=name,
                buildargs={"BASE": base, "VARIANT": variant},
                labels=labels,
                rm=True,
                forcerm=True,
                decode=True,
            )
            tail: deque[str] = deque(maxlen=3)
            for step in steps:
                if "error" in step:
                    raise SandboxError(f"The image build failed: {' | '.join([*tail, str(step['error']).strip()])}")
                line = str(step.get("stream", "")).strip()
                if line.startswith("Step ") and (" : RUN " in line or " : COPY " in line):
                    on_progress(line[:80])
                elif line:
                    tail.append(line)
    finally:
        _remove_stages(client)
    if not _is_there(client, name):
        raise SandboxError(f"The engine has no image {name} after its build.", "Try again with `make image`.")


def _remove_stages(client: docker.DockerClient) -> None:
    """Remove the first stages of finished and broken builds: nothing needs them, and nothing else removes them."""
    from docker.errors import APIError

    for image in client.images.list(filters={"dangling": True, "label": f"{STAGE_LABEL}=packages"}):
        with suppress(APIError):  # in use by a build of another program
            client.api.remove_image(str(image.id), noprune=False)


def _python_of(client: docker.DockerClient, base: str) -> tuple[str, str]:
    """Version (`3.12`) and machine (`x86_64`) of a base image's Python."""
    script = "import platform as p; print('.'.join(p.python_version_tuple()[:2]), p.machine())"
    output = client.containers.run(base, ["python3", "-I", "-c", script], remove=True, network_disabled=True)
    version, machine = bytes(output).decode().split()
    return version, machine


@contextmanager
def _context(wheels: Path) -> Iterator[IO[bytes]]:
    """Build context: the recipe and the wheels, nothing else of the checkout."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name in RECIPE_FILES:
                _add(archive, name, (RECIPE_DIR / name).read_bytes().replace(b"\r\n", b"\n"))
            for wheel in sorted(wheels.glob("*.whl")):
                info = tarfile.TarInfo(f"wheels/{wheel.name}")
                info.size = wheel.stat().st_size
                with wheel.open("rb") as content:
                    archive.addfile(info, content)
        file.seek(0)
        yield file


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
