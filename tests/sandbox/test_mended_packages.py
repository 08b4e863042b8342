"""What a red team found to go through in granted packages: each of these did, before it was mended."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from autogen_core import CancellationToken

from sandbox.executor import DockerExecutor
from sandbox.packages import wheels
from sandbox.packages.install_lines import read
from sandbox.packages.names import requirement
from sandbox.packages.wheels import NotFetchedError, Request, Target, fetch
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from tests.sandbox.wheelhouse import Wheelhouse

pytestmark = [pytest.mark.slow]

TOML = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
TARGET = Target("3.11", "x86_64", 36)


def _source(directory: Path, mark: Path) -> dict[str, str]:
    """Source code that builds itself without needing anything, by place: packed, and as a directory."""
    files = {"pyproject.toml": TOML, "backend.py": f"open({str(mark)!r}, 'w').close()\n"}
    with tarfile.open(directory / "below-1.0.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"below-1.0/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    (directory / "below").mkdir()
    for name, text in files.items():
        (directory / "below" / name).write_text(text)
    return {"packed": (directory / "below-1.0.tar.gz").as_uri(), "directory": (directory / "below").as_uri()}


@pytest.mark.parametrize("way", ["packed", "directory", "wheel", "git"])
async def test_what_a_wheel_needs_at_an_address_is_neither_built_nor_fetched(way: str, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "else").mkdir()
    mark = tmp_path / "ran"
    places = _source(tmp_path / "else", mark)
    places["wheel"] = Wheelhouse(tmp_path / "other").wheel("below", {"below.py": ""}).as_uri()
    places["git"] = "git+ssh://localhost/below"
    house = Wheelhouse(tmp_path / "house")
    house.wheel("above", {"above.py": ""}, requires=[f"below @ {places[way]}"])
    request = Request(("above",), TARGET, {}, 1 << 20, 60)
    with pytest.raises(NotFetchedError, match="needs something at an address, or source code"):
        await fetch(request, cache=tmp_path / "cache", environ=house.environ)
    assert not mark.exists()


async def test_an_address_that_is_not_needed_is_no_reason_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    house = Wheelhouse(tmp_path / "house")
    house.wheel("above", {"above.py": ""}, requires=["below @ https://localhost/below.zip ; extra == 'more'"])
    request = Request(("above",), TARGET, {}, 1 << 20, 60)
    assert list(await fetch(request, cache=tmp_path / "cache", environ=house.environ)) == ["above"]


@pytest.mark.parametrize(
    "text", ["x===../../out/below", "out/below", "below-1.0.tar.gz", "x===..\\\\out", "x===1.0", "x.whl"]
)
async def test_what_pip_could_take_for_a_path_is_no_requirement(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "out").mkdir()
    _source(tmp_path / "out", tmp_path / "ran")
    (tmp_path / "out" / "below-1.0.tar.gz").rename(tmp_path / "below-1.0.tar.gz")
    monkeypatch.chdir(tmp_path)
    environ = {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    assert read("bash", f"pip install '{text}'").requirements == ()
    known: Callable[[str], Any]
    for known in (requirement, str):  # and where only pip itself would stop it
        monkeypatch.setattr(wheels, "requirement", known)
        with pytest.raises(NotFetchedError):
            await fetch(Request((text,), TARGET, {}, 1 << 20, 60), cache=tmp_path / "cache", environ=environ)
        assert not (tmp_path / "ran").exists()


PLANTED = "import sys; sys.stderr.write('planted\\n')\n"
DATA = "planter-1.0.data/data"


@pytest.mark.docker
async def test_what_a_wheel_holds_rules_neither_the_start_of_python_nor_the_installer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr("sandbox.docker_sandbox.cache_dir", lambda: tmp_path / "cache")
    house = Wheelhouse(tmp_path / "house")
    files = {f"{DATA}/start/{name}": PLANTED for name in ("encodings/__init__.py", "json.py", "sitecustomize.py")}
    configuration = "[global]\npython = /packages/bin/planted\n"
    files |= {f"{DATA}/{name}": configuration for name in (".config/pip/pip.conf", ".pip/pip.conf", "pip.conf")}
    house.wheel("planter", {"planter.py": "", **files})
    house.wheel("second", {"second.py": ""})
    async with DockerExecutor(policy=boxes.SMALL, environ=house.environ, work_dir=tmp_path / "work") as box:
        for name in ("planter", "second"):
            installation = await box.install([name], cancellation_token=CancellationToken())
            assert installation.problem == ""
            result = await run(box, f"import json, {name}; print(2)")
            assert (result.output, result.notes) == ("2\n", ())
