"""The image that the sandbox image stands on: pulled where images can be pulled, else made with debootstrap."""

from __future__ import annotations

import hashlib
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.errors import SandboxError
from utils.image_recipe import IMAGE, RECIPE_DIR, Variant, effective_text, languages

if TYPE_CHECKING:
    import docker

PULLED = "python:3.12-slim"
SUITE = "bookworm"
"""Debian release of the base that debootstrap makes."""
FIRST_ANSWER_S = 20
"""How long a registry may take to say anything before it counts as unreachable."""
NEXT_ANSWER_S = 180
"""How long a pull may stand still."""


def ensure_base(
    client: docker.DockerClient, variant: Variant, on_progress: Callable[[str], None], cache: Path, *, may_ask: bool
) -> str:
    """Give the name of a base image, pulling or making it first where it is not there.

    `may_ask`: sudo may ask for a password on the terminal. Raises `SandboxError`.
    """
    name = _made_name(variant)
    for image in (PULLED, name):
        if _is_there(client, image):
            return image
    refusal = _pull(client, on_progress)
    if not refusal:
        return PULLED
    on_progress(f"{PULLED} cannot be pulled ({refusal}): making a base with debootstrap")
    archive = _make_archive(client, name, variant, on_progress, cache, may_ask=may_ask, refusal=refusal)
    repository, _, tag = name.partition(":")
    on_progress("importing the base")
    client.api.import_image_from_file(str(archive), repository=repository, tag=tag)
    if not _is_there(client, name):
        raise SandboxError(f"The engine did not take the base image {archive}.", "Remove that file and try again.")
    return name


def _made_name(variant: Variant) -> str:
    digest = hashlib.sha256(effective_text("make_base.sh").encode())
    digest.update(" ".join([SUITE, *_debian_packages(variant)]).encode())
    return f"{IMAGE}-base{'' if variant == 'default' else f'-{variant}'}:{digest.hexdigest()[:12]}"


def _debian_packages(variant: Variant) -> list[str]:
    return sorted({package for language in languages(variant) for package in language.packages})


def _is_there(client: docker.DockerClient, image: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        client.images.get(image)
    except ImageNotFound:
        return False
    return True


def _pull(client: docker.DockerClient, on_progress: Callable[[str], None]) -> str:
    """Pull the base; say why not, or "" when it is there."""
    events: queue.Queue[dict[str, Any]] = queue.Queue()

    def follow() -> None:
        try:
            for event in client.api.pull(PULLED, stream=True, decode=True):
                events.put(event)
        except Exception as error:  # whatever it is, debootstrap is the way on
            events.put({"error": str(error)})
        events.put({})

    on_progress(f"pulling {PULLED}")
    # A daemon thread: docker-py gives a pull no time-out, and one that hangs must not hold the program.
    threading.Thread(target=follow, daemon=True).start()
    wait_s = FIRST_ANSWER_S
    while True:
        try:
            event = events.get(timeout=wait_s)
        except queue.Empty:
            return f"no answer for {wait_s} seconds"
        if event.get("error"):
            return _short(str(event["error"]))
        if not event:
            return "" if _is_there(client, PULLED) else "the engine has no such image after the pull"
        if event.get("status") == "Pull complete":
            on_progress(f"pulled layer {event.get('id', '')}")
        wait_s = NEXT_ANSWER_S


def _short(reason: str) -> str:
    for phrase in ("no such host", "connection refused", "network is unreachable", "timeout", "toomanyrequests"):
        if phrase in reason.lower():
            return phrase
    return reason.splitlines()[0][:120]


def _make_archive(
    client: docker.DockerClient,
    name: str,
    variant: Variant,
    on_progress: Callable[[str], None],
    cache: Path,
    *,
    may_ask: bool,
    refusal: str,
) -> Path:
    """Make the base's file system with debootstrap, or take the one that an earlier call made."""
    architecture = str(client.info().get("Architecture", "unknown"))
    archive = cache / f"{name.replace(':', '-')}-{architecture}.tar.gz"
    if archive.exists():
        on_progress(f"using {archive}")
        return archive
    command = [
        *_as_root(refusal, may_ask=may_ask),
        "sh",
        str(RECIPE_DIR / "make_base.sh"),
        SUITE,
        str(cache),
        str(archive),
    ]
    on_progress("debootstrap: fetching and unpacking Debian packages (a minute or two)")
    tail: deque[str] = deque(maxlen=5)
    with subprocess.Popen(
        [*command, *_debian_packages(variant)],
        stdin=None if may_ask else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            tail.append(line.strip())
            if line.startswith(("I: Base system", "I: Unpacking the base", "I: Configuring python3.", "installing")):
                on_progress(line.removeprefix("I: ").strip())
    if process.returncode or not archive.exists():
        raise SandboxError(
            f"debootstrap failed ({process.returncode}): {' | '.join(tail)}",
            f"Give the engine a way to pull {PULLED}, or this machine one to Debian's packages.",
        )
    for older in cache.glob(f"{name.partition(':')[0]}-{'?' * 12}-{architecture}.tar.gz"):
        if older != archive:
            older.unlink(missing_ok=True)
    return archive


def _as_root(refusal: str, *, may_ask: bool) -> list[str]:
    """Command prefix that makes root of us. Raises `SandboxError` where debootstrap cannot be had."""
    if sys.platform != "linux" or not (shutil.which("debootstrap") or shutil.which("apt-get")):
        raise SandboxError(
            f"The base image {PULLED} cannot be pulled ({refusal}), and there is no debootstrap here to make one.",
            f"Give the Docker engine a way to a registry, or load the image with `docker load`, tagged {PULLED}.",
        )
    if os.geteuid() == 0:
        return []
    if may_ask and shutil.which("sudo"):
        return ["sudo"]
    raise SandboxError(
        f"The base image {PULLED} cannot be pulled ({refusal}), and making one needs root.",
        "Run `make image` on a terminal, which asks for it, or `sudo make image`.",
    )
