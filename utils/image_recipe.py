"""What goes into the sandbox image: the files of sandbox/image/, the languages, and the tag that follows from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Variant = Literal["default", "full"]
"""The image with the everyday languages, or the one with all."""

IMAGE = "roundtable-sandbox"
"""Repository name of the sandbox images; the tag is made from what goes in."""
RECIPE_DIR = Path(__file__).resolve().parent.parent / "sandbox" / "image"
"""Dockerfile, lock of the Python packages, list of the languages."""
RECIPE_FILES = ("Dockerfile", "install_languages.sh", "languages.txt", "packages.txt")


@dataclass(frozen=True)
class Language:
    """One line of languages.txt."""

    name: str
    command: str
    """Program that is there when the language is."""
    image: Variant
    packages: tuple[str, ...]
    """Debian packages that bring it."""


def languages(variant: Variant = "default") -> tuple[Language, ...]:
    """Languages of an image, in the order of languages.txt."""
    found = []
    for line in (RECIPE_DIR / "languages.txt").read_text("utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, command, image, *packages = line.split()
        language = Language(name, command, "full" if image == "full" else "default", tuple(packages))
        if variant == "full" or language.image == "default":
            found.append(language)
    return tuple(found)


def packages() -> dict[str, str]:
    """Python packages of the image with their versions, as locked."""
    lines = (RECIPE_DIR / "packages.txt").read_text("utf-8").splitlines()
    pins = (line.split("#")[0].split(";")[0].strip() for line in lines)
    return dict(pin.split("==", 1) for pin in pins if "==" in pin)


def effective_text(name: str) -> str:
    """A file of the recipe without comment lines and without what depends on how it was checked out: line ends."""
    lines = (RECIPE_DIR / name).read_text("utf-8").splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


def image_name(variant: Variant = "default") -> str:
    """Name and tag of the image that this recipe makes: another recipe, another tag."""
    digest = hashlib.sha256(variant.encode())
    for name in RECIPE_FILES:
        digest.update(f"{name}\0{effective_text(name)}\0".encode())
    suffix = "" if variant == "default" else f"-{variant}"
    return f"{IMAGE}{suffix}:{digest.hexdigest()[:12]}"
