"""The languages that a block may be written in. A new one is one line of the table and one of the image's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from utils.errors import SandboxError

Image = Literal["default", "full"]


@dataclass(frozen=True)
class Language:
    """How blocks of one language are stored, compiled and run; the supervisor fills in `{file}` and `{build}`."""

    name: str
    aliases: tuple[str, ...]
    """Other names of a fence, in lower case."""
    file: str
    """Name of a block's file where the block gives none itself."""
    run: tuple[str, ...]
    compile: tuple[str, ...] = ()
    image: Image = "default"
    """The smallest image that has it: the full one has all."""
    comment: str = "#"
    """What starts a comment, for a first line such as `# filename: report.py`."""

    @property
    def command(self) -> str:
        """The program that the image must have."""
        return (self.compile or self.run)[0]


_BUILT = "{build}/program"

TABLE: tuple[Language, ...] = (
    Language("python", ("py", "python3", "py3"), "_block.py", ("python3", "{file}")),
    Language("bash", ("shell",), "_block.sh", ("bash", "{file}")),
    Language("sh", ("dash", "posix"), "_block.sh", ("sh", "{file}")),
    Language("javascript", ("js", "node", "nodejs"), "_block.js", ("node", "{file}"), comment="//"),
    Language("c", (), "_block.c", (_BUILT,), ("gcc", "-O1", "-o", _BUILT, "{file}", "-lm"), comment="//"),
    Language(
        "c++", ("cpp", "cxx", "cc"), "_block.cpp", (_BUILT,), ("g++", "-O1", "-o", _BUILT, "{file}"), comment="//"
    ),
    Language("perl", ("pl",), "_block.pl", ("perl", "{file}")),
    Language("go", ("golang",), "block.go", (_BUILT,), ("go", "build", "-o", _BUILT, "{file}"), "full", "//"),
    Language("rust", ("rs",), "_block.rs", (_BUILT,), ("rustc", "-o", _BUILT, "{file}"), "full", "//"),
    Language("java", (), "Block.java", ("java", "{file}"), (), "full", "//"),
    Language("ruby", ("rb",), "_block.rb", ("ruby", "{file}"), (), "full"),
    Language("php", (), "_block.php", ("php", "{file}"), (), "full", "//"),
    Language("lua", (), "_block.lua", ("lua", "{file}"), (), "full", "--"),
    Language("r", ("rscript", "rlang"), "_block.R", ("Rscript", "--vanilla", "{file}"), (), "full"),
    Language(
        "typescript",
        ("ts",),
        "block.ts",
        ("node", "{build}/block.js"),
        ("tsc", "--target", "es2022", "--module", "commonjs", "--skipLibCheck", "--outDir", "{build}", "{file}"),
        "full",
        "//",
    ),
)

_NOTEBOOK_PROGRAM = Path(__file__).resolve().parent / "inside" / "notebook.py"
NOTEBOOK = Language("notebook", (), "_block.py", ("python3", "-c", _NOTEBOOK_PROGRAM.read_text("utf-8"), "{file}"))
"""Python with `!` and `%pip` lines, where there is no kernel that knows them. Not a fence of its own."""

BY_NAME = {language.name: language for language in TABLE}


def in_image(image: Image) -> tuple[str, ...]:
    """Canonical names of the languages that an image has."""
    return tuple(language.name for language in TABLE if image == "full" or language.image == "default")


def fence_names(names: Iterable[str]) -> dict[str, str]:
    """Every fence name of the languages given, in lower case, with the language's canonical name."""
    table = {}
    for name in names:
        for fence in (name, *BY_NAME[name].aliases):
            table[fence] = name
    return table


def choose(name: str, offered: Sequence[str], variant: Image) -> Language:
    """The language of a fence name, which must be one of those offered. Raises `SandboxError` that says who has it."""
    found = find(name)
    if found is not None and found.name in offered:
        return found
    here = ", ".join(offered)
    if found is not None and found.image == "full" and variant != "full":
        hint = f"The full image has {found.name}: `make image-full`, and `variant: full` in sandbox.yaml."
        raise SandboxError(f"This sandbox's image has no {found.name}; it has {here}.", hint)
    raise SandboxError(f"Unsupported language: {name}. This sandbox runs {here}.")


def find(name: str) -> Language | None:
    """The language of a fence name in any case, whichever image has it."""
    return BY_NAME.get(fence_names(BY_NAME).get(name.lower(), ""))
