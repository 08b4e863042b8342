"""Wheels of the tests' own, so that no test needs a registry."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path


class Wheelhouse:
    """A directory that pip takes for its registry."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    @property
    def environ(self) -> dict[str, str]:
        """What makes pip look here and nowhere else, beside the environment's own PATH and home."""
        own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return own | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.path), "PIP_CONFIG_FILE": os.devnull}

    def wheel(
        self,
        name: str,
        files: Mapping[str, str | bytes],
        version: str = "1.0",
        requires: Sequence[str] = (),
        scripts: Mapping[str, str] | None = None,
    ) -> Path:
        """A wheel for every Python. `scripts`: entry points by command."""
        info = f"{name}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {text}\n" for text in requires)
        points = "".join(f"{command} = {target}\n" for command, target in (scripts or {}).items())
        content: dict[str, str | bytes] = {
            **files,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        if points:
            content[f"{info}/entry_points.txt"] = f"[console_scripts]\n{points}"
        path = self.path / f"{name}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            record = ""
            for member, data in content.items():
                data = data.encode() if isinstance(data, str) else data
                archive.writestr(member, data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record += f"{member},sha256={digest},{len(data)}\n"
            archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
        return path

    def sdist(self, name: str, setup: str, version: str = "1.0") -> None:
        """Source code, which would have to be built."""
        with tarfile.open(self.path / f"{name}-{version}.tar.gz", "w:gz") as archive:
            for member, text in (
                ("setup.py", setup),
                ("PKG-INFO", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"),
            ):
                info = tarfile.TarInfo(f"{name}-{version}/{member}")
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
