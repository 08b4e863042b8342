"""Names of packages: normalised, compared with well-known ones, and found from the names of modules."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion

_SHORT = 4
"""Names of fewer letters than this have too many neighbours to mean anything."""
_OF_FILES = re.compile(r"[/\\]|===|\.(?:whl|zip|t[abglx]\w+)$|\.tar\.\w+$", re.IGNORECASE)
"""`x===../../y` is a version to the grammar of requirements, and to pip the directory y."""
_PACKAGE_OF = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "PIL": "pillow",
    "yaml": "PyYAML",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "fitz": "PyMuPDF",
    "jwt": "PyJWT",
    "Crypto": "pycryptodome",
    "OpenSSL": "pyOpenSSL",
    "nacl": "PyNaCl",
    "serial": "pyserial",
    "usb": "pyusb",
    "zmq": "pyzmq",
    "git": "GitPython",
    "github": "PyGithub",
    "magic": "python-magic",
    "slugify": "python-slugify",
    "attr": "attrs",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
    "MySQLdb": "mysqlclient",
    "mysql": "mysql-connector-python",
    "Levenshtein": "python-Levenshtein",
    "igraph": "python-igraph",
    "community": "python-louvain",
    "umap": "umap-learn",
    "Bio": "biopython",
    "ruamel": "ruamel.yaml",
    "mpl_toolkits": "matplotlib",
    "pylab": "matplotlib",
    "wx": "wxPython",
    "telegram": "python-telegram-bot",
    "socks": "PySocks",
    "websocket": "websocket-client",
    "jose": "python-jose",
    "multipart": "python-multipart",
    "memcache": "python-memcached",
    "ldap": "python-ldap",
    "gi": "PyGObject",
    "win32api": "pywin32",
    "shapefile": "pyshp",
    "pywt": "PyWavelets",
    "speech_recognition": "SpeechRecognition",
    "faiss": "faiss-cpu",
    "pl_bolts": "lightning-bolts",
    "tlz": "toolz",
    "pyximport": "cython",
    "_cffi_backend": "cffi",
    "barcode": "python-barcode",
    "xdist": "pytest-xdist",
}
"""Module -> package, where the two names differ by more than case and dashes."""


def normalised(name: str) -> str:
    """The name as a registry compares it: lower case, `-` for any run of `-`, `_` and `.`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(text: str) -> Requirement | None:
    """A requirement that names a package and perhaps extras and versions.

    None for an address, a path, a file or a marker: also for what pip takes for a path where there is one of its name.
    """
    if _OF_FILES.search(text):
        return None
    try:
        parsed = Requirement(text)
    except (InvalidRequirement, InvalidVersion):
        return None
    return None if parsed.url or parsed.marker else parsed


def name_of(text: str) -> str:
    """Normalised name of the package that a requirement is for. Raises `ValueError` where it names none."""
    parsed = requirement(text)
    if parsed is None:
        raise ValueError(f"{text!r} is not the name of a package")
    return normalised(parsed.name)


def package_of(module: str) -> str:
    """The package that brings a module; empty for a module of Python itself and for what cannot be a package."""
    top = module.partition(".")[0]
    if not top.isascii() or not top.isidentifier() or top.startswith("_") or top in sys.stdlib_module_names:
        return ""
    return _PACKAGE_OF.get(top, top.replace("_", "-"))


def modules_of(package: str) -> tuple[str, ...]:
    """Modules that a package is likely to bring."""
    wanted = normalised(package)
    known = [module for module, name in _PACKAGE_OF.items() if normalised(name) == wanted]
    return (*known, wanted.replace("-", "_"))


@cache
def well_known() -> frozenset[str]:
    """Normalised names of the packages that everybody uses."""
    lines = Path(__file__).with_name("well_known.txt").read_text("utf-8").splitlines()
    return frozenset(normalised(line) for line in lines if line and not line.startswith("#"))


def looks_like(name: str) -> str:
    """A well-known package whose name is one edit away from this one, which is not well known itself; else empty."""
    own = normalised(name)
    if own in well_known():
        return ""
    for known in sorted(well_known()):
        # Dashes left out or put in count as nothing: `pythondateutil` is one too.
        if len(known) >= _SHORT and _one_edit(own.replace("-", ""), known.replace("-", "")):
            return known
    return ""


def _one_edit(one: str, other: str) -> bool:
    """Whether one letter put in, left out or changed, or two neighbours swapped, or nothing, makes them the same."""
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    return one[at + 1 :] == other[at + 1 :] or swapped
