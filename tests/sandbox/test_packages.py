"""Packages that the image lacks: fetched as wheels on the host, installed without a network, read-only for blocks."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from autogen_core import CancellationToken

from sandbox.base import Installation
from sandbox.executor import DockerExecutor
from sandbox.packages.install_lines import InstallLines, read
from sandbox.packages.names import looks_like, modules_of, name_of, package_of, well_known
from sandbox.packages.shelf import Shelf
from sandbox.packages.wheels import NotFetchedError, Request, Target, fetch
from tests.sandbox.box import NO_NETWORK, containers, inspect, policy, run
from tests.sandbox.wheelhouse import Wheelhouse

pytestmark = pytest.mark.slow

HELLO = {"rt_hello/__init__.py": "def hello():\n    return 'hello from a wheel'\n"}
USE = "import rt_hello; print(rt_hello.hello())"
Make = Callable[..., DockerExecutor]


@pytest.fixture
def house(tmp_path: Path) -> Wheelhouse:
    return Wheelhouse(tmp_path / "house")


@pytest_asyncio.fixture
async def make(tmp_path: Path, house: Wheelhouse, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    made: list[DockerExecutor] = []
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr("sandbox.docker_sandbox.cache_dir", lambda: cache)

    def build(environ: dict[str, str] | None = None, **changes: object) -> DockerExecutor:
        environ = house.environ if environ is None else environ
        made.append(DockerExecutor(policy=policy(**changes), environ=environ, work_dir=tmp_path / "work"))
        return made[-1]

    yield build
    for box in made:
        await box.stop()
        assert containers(box.container_name) == []


async def install(box: DockerExecutor, *requirements: str) -> Installation:
    return await box.install(requirements, cancellation_token=CancellationToken())


# -- in the container


@pytest.mark.docker
async def test_a_package_is_imported_with_network_none_throughout(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", HELLO)
    box = make()
    assert "ModuleNotFoundError" in (await run(box, USE)).output
    assert box.lacks(["rt_hello"]) == ("rt_hello",)
    assert await install(box, "rt_hello") == Installation(("rt-hello 1.0",))
    assert box.lacks(["rt_hello", "rt_hello>=2"]) == ("rt_hello>=2",)
    for _ in range(2):
        assert (await run(box, USE)).output == "hello from a wheel\n"
    assert inspect(box.container_name, "{{.HostConfig.NetworkMode}}") == ["none"]
    assert list(box.work_dir.iterdir()) == []
    assert "rt-hello" in box.info.packages


@pytest.mark.docker
async def test_the_warm_process_sees_it_too(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", HELLO)
    box = make(warm=True, warm_imports=["json"])
    await box.until_warm()
    await install(box, "rt_hello")
    await box.until_warm()
    assert (await run(box, USE)).output == "hello from a wheel\n"


@pytest.mark.docker
async def test_a_kernel_sees_it_and_keeps_its_variables(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", HELLO)
    box = make(kernel=True, memory_mib=512, pids=128)
    await run(box, "kept = 7")
    await install(box, "rt_hello")
    assert (await run(box, f"{USE}; print(kept)")).output == "hello from a wheel\n7\n"
    assert "satisfied: rt_hello" in (await run(box, "%pip install rt_hello")).output


@pytest.mark.docker
@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("bash", "pip install 'rt_hello>=1'"),
        ("bash", "python3 -m pip install --upgrade rt_hello"),
        ("bash", "uv pip install --system rt_hello"),
        ("bash", "rt-hello"),
        (
            "python",
            "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'rt_hello'])",
        ),
        ("python", "%pip install rt_hello\n" + USE),
        ("python", "if True:\n    !pip install -q rt_hello\n" + USE),
    ],
)
async def test_the_very_line_that_installs_works_once_it_is_granted(
    make: Make, house: Wheelhouse, language: str, code: str
) -> None:
    house.wheel("rt_hello", HELLO, scripts={"rt-hello": "rt_hello:hello"})
    box = make()
    await install(box, "rt_hello")
    result = await run(box, code, language)
    assert (result.exit_code == 0) != (code == "rt-hello"), result.output
    assert "satisfied" in result.output or "hello from a wheel" in result.output


@pytest.mark.docker
async def test_a_line_that_installs_what_was_not_granted_fails_at_once(make: Make) -> None:
    box = make()
    result = await run(box, "pip install rt_hello", "bash")
    assert result.exit_code != 0
    assert "No matching distribution" in result.output
    assert result.duration_s < 15  # pip's tries to reach an index would take half a minute


@pytest.mark.docker
async def test_a_notebook_block_ends_as_python_does(make: Make) -> None:
    box = make()
    result = await run(box, "!echo shell\nprint(__name__, __file__)\n1 / 0\n")
    assert result.exit_code == 1
    assert result.output.splitlines()[:2] == ["shell", "__main__ _block.py"]
    assert 'File "_block.py", line 3' in result.output
    assert (await run(box, "!echo x\nimport sys; sys.exit(3)")).exit_code == 3


@pytest.mark.docker
async def test_blocks_read_the_packages_and_cannot_change_them(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", HELLO)
    box = make()
    touch = "touch /packages/x 2>&1; echo 1 >> /packages/start/sitecustomize.py; ls -A /packages"
    assert "x" not in (await run(box, touch, "bash")).output.split()[-1:]
    await install(box, "rt_hello")
    site = "$(python3 -c 'import rt_hello, os; print(os.path.dirname(os.path.dirname(rt_hello.__file__)))')"
    attack = f"""
    for path in /packages/x /packages/start/sitecustomize.py {site}/evil.pth {site}/rt_hello/__init__.py; do
        echo 'print("planted")' >> $path; chmod 777 $path; rm -f $path
    done
    mv /packages/start /packages/start2; chmod -R 777 /packages; id -u
    """
    result = await run(box, attack, "bash")
    assert result.output.count("Permission denied") + result.output.count("Operation not permitted") >= 8
    assert (await run(box, USE)).output == "hello from a wheel\n"


@pytest.mark.docker
async def test_what_was_granted_outlives_the_container(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", HELLO)
    box = make()
    await install(box, "rt_hello")
    await box.restart()
    assert (await run(box, USE)).output == "hello from a wheel\n"


@pytest.mark.docker
@NO_NETWORK
async def test_what_was_granted_is_there_with_a_network_too(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", HELLO)
    box = make(network="ask")
    await install(box, "rt_hello")
    beside = await box.run("python", USE, cancellation_token=CancellationToken(), network=True)
    assert beside.output == "hello from a wheel\n"


@pytest.mark.docker
async def test_dependencies_come_with_it_and_what_the_image_has_stays(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_needed", {"rt_needed.py": "VALUE = 7\n"})
    house.wheel("rt_hello", HELLO, requires=["rt_needed", "nothing; sys_platform == 'win32'"])
    box = make()
    assert await install(box, "rt_hello") == Installation(("rt-hello 1.0", "rt-needed 1.0"))
    assert (await run(box, "import rt_needed; print(rt_needed.VALUE)")).output == "7\n"


@pytest.mark.docker
async def test_a_package_takes_no_module_of_pythons_place(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", {**HELLO, "json.py": "print('planted')", "random.py": "print('planted')"})
    box = make()
    await install(box, "rt_hello")
    assert (await run(box, "import json, random, rt_hello; print(json.dumps(1))")).output == "1\n"


@pytest.mark.docker
async def test_a_wheel_that_leads_out_installs_nothing_and_the_sandbox_goes_on(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", {**HELLO, "../../../../workspace/planted.txt": "x"})
    box = make()
    done = await install(box, "rt_hello")
    assert "could not be installed" in done.problem
    assert (await run(box, "ls -A", "bash")).output.split() == ["_block.sh"]
    assert box.lacks(["rt_hello"]) == ("rt_hello",)


@pytest.mark.docker
async def test_packages_have_room_of_their_own_and_no_more(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_large", {"rt_large/data.bin": os.urandom(3 << 20)})
    house.wheel("rt_bomb", {"rt_bomb/data.bin": bytes(60 << 20)})
    house.wheel("rt_hello", HELLO)
    box = make(packages={"size_mib": 2})
    assert "larger than 2 MiB" in (await install(box, "rt_large")).problem
    assert "could not be installed" in (await install(box, "rt_bomb")).problem
    assert not (await install(box, "rt_hello")).problem
    assert (await run(box, USE)).output == "hello from a wheel\n"
    assert inspect(box.container_name, "{{.HostConfig.Memory}}") == [str((box.policy.memory_mib + 2) << 20)]


@pytest.mark.docker
async def test_where_there_is_no_room_for_packages_none_is_granted(make: Make, house: Wheelhouse) -> None:
    house.wheel("rt_hello", HELLO)
    box = make(packages={"size_mib": 0})
    assert "size_mib is 0" in (await install(box, "rt_hello")).problem
    assert (await run(box, "ls -d /packages", "bash")).exit_code == 2


@pytest.mark.docker
async def test_a_cancel_ends_the_fetching_and_the_next_block_runs(
    make: Make, house: Wheelhouse, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the connection and never answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        environ = {"PATH": os.environ["PATH"], "PIP_INDEX_URL": address, "PIP_CONFIG_FILE": os.devnull}
        box = make(environ)
        await box.start()
        token = CancellationToken()
        installing = asyncio.create_task(box.install(["rt_hello"], cancellation_token=token))
        silent.settimeout(30)
        connection, _ = await asyncio.to_thread(silent.accept)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(installing, 5)
        connection.close()
    assert (await run(box, "print(1)")).output == "1\n"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["packages"]


# -- on the host


def request(*requirements: str, python: str = "3.9", **changes: object) -> Request:
    fields = {"constraints": {}, "size_bytes": 1 << 20, "timeout_s": 60, **changes}
    return Request(requirements, Target(python, "x86_64", 36), **fields)  # type: ignore[arg-type]  # a test's short hand


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


async def test_no_code_of_a_package_runs_on_the_host(house: Wheelhouse, cache: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran-on-the-host"
    code = f"open({str(mark)!r}, 'w')\n"
    house.sdist("rt_source", f"{code}from setuptools import setup\nsetup(name='rt_source')\n")
    house.wheel(
        "rt_evil", {"rt_evil.py": code, "rt_evil.pth": f"import sys; exec({code!r})\n", "sitecustomize.py": code}
    )
    assert list(await fetch(request("rt_evil"), cache=cache, environ=house.environ)) == ["rt-evil"]
    for environ in (house.environ, house.environ | {"PIP_NO_BINARY": ":all:"}):
        with pytest.raises(NotFetchedError, match="never built"):
            await fetch(request("rt_source"), cache=cache, environ=environ)
    assert not mark.exists()


async def test_a_dependency_in_source_code_is_not_built_either(house: Wheelhouse, cache: Path) -> None:
    house.sdist("rt_source", "raise SystemExit('built')\n")
    house.wheel("rt_hello", HELLO, requires=["rt_source"])
    with pytest.raises(NotFetchedError, match="no wheel of rt_source"):
        await fetch(request("rt_hello"), cache=cache, environ=house.environ)


async def test_markers_are_those_of_the_container(house: Wheelhouse, cache: Path) -> None:
    for name in ("rt_old", "rt_arm"):
        house.wheel(name, {f"{name}.py": ""})
    needs = ["rt_old; python_version < '3.10'", "rt_arm; platform_machine == 'aarch64'", "rt_no; os_name == 'nt'"]
    house.wheel("rt_hello", HELLO, requires=needs)
    assert list(await fetch(request("rt_hello"), cache=cache, environ=house.environ)) == ["rt-hello", "rt-old"]
    newer = await fetch(request("rt_hello", python="3.14"), cache=cache, environ=house.environ)
    assert list(newer) == ["rt-hello"]


async def test_what_the_container_has_keeps_its_version(house: Wheelhouse, cache: Path) -> None:
    for version in ("1.0", "2.0"):
        house.wheel("rt_needed", {"rt_needed.py": ""}, version)
    house.wheel("rt_hello", HELLO, requires=["rt_needed"])
    house.wheel("rt_newer", HELLO, requires=["rt_needed>=2"])
    there = {"rt-needed": "1.0"}
    got = await fetch(request("rt_hello", constraints=there), cache=cache, environ=house.environ)
    assert list(got) == ["rt-hello"]
    with pytest.raises(NotFetchedError, match="other versions than"):
        await fetch(request("rt_newer", constraints=there), cache=cache, environ=house.environ)


async def test_an_index_that_cannot_be_reached_is_said_without_its_address(cache: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "PIP_INDEX_URL": "http://user:s3cret@127.0.0.1:9/simple"}
    environ |= {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}
    with pytest.raises(NotFetchedError, match="cannot be reached") as caught:
        await fetch(request("rt_hello"), cache=cache, environ=environ)
    assert "s3cret" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


async def test_too_slow_and_too_large_end_pip(house: Wheelhouse, cache: Path) -> None:
    house.wheel("rt_large", {"rt_large.bin": os.urandom(3 << 20)})
    with pytest.raises(NotFetchedError, match="larger than 1 MiB"):
        await fetch(request("rt_large"), cache=cache, environ=house.environ)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        environ = {"PATH": os.environ["PATH"], "PIP_INDEX_URL": address, "PIP_CONFIG_FILE": os.devnull}
        with pytest.raises(NotFetchedError, match="within 1 s"):
            await fetch(request("rt_hello", timeout_s=1), cache=cache, environ=environ)
    assert os.listdir(cache) == ["packages"]


async def test_a_fetched_wheel_is_there_when_the_registry_is_gone(house: Wheelhouse, cache: Path) -> None:
    path = house.wheel("rt_hello", HELLO)
    await fetch(request("rt_hello"), cache=cache, environ=house.environ)
    path.unlink()
    assert list(await fetch(request("rt_hello"), cache=cache, environ=house.environ)) == ["rt-hello"]


async def test_pip_is_told_none_of_the_programs_secrets(
    house: Wheelhouse, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []
    start = asyncio.create_subprocess_exec

    async def spy(*command: str, env: dict[str, str], **rest: object) -> asyncio.subprocess.Process:
        seen.append(env)
        return await start(*command, env=env, **rest)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr("asyncio.create_subprocess_exec", spy)
    house.wheel("rt_hello", HELLO)
    environ = house.environ | {"OPENAI_API_KEY": "sk-1", "GITHUB_TOKEN": "t", "PYTHONPATH": "/x", "https_proxy": ""}
    await fetch(request("rt_hello"), cache=cache, environ=environ)
    assert {"PIP_NO_INDEX", "PATH", "https_proxy"} <= set(seen[0])
    assert not {"OPENAI_API_KEY", "GITHUB_TOKEN", "PYTHONPATH"} & set(seen[0])


def test_what_is_lacking(tmp_path: Path) -> None:
    shelf = Shelf(policy(), {"numpy": "2.1.0", "Ruamel_YAML": "0.18"}, {}, tmp_path)
    wanted = ["numpy", "NumPy>=2,<3", "numpy<2", "ruamel.yaml", "rich", "numpy[extra]"]
    assert shelf.lacks(wanted) == ("numpy<2", "rich", "numpy[extra]")


# -- names


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("cv2", "opencv-python-headless"),
        ("sklearn.svm", "scikit-learn"),
        ("PIL.Image", "pillow"),
        ("yaml", "PyYAML"),
        ("bs4", "beautifulsoup4"),
        ("flask_cors", "flask-cors"),
        ("polars", "polars"),
        ("json", ""),
        ("tkinter.ttk", ""),
        ("_private", ""),
        ("имя", ""),
        ("--index-url", ""),
        ("", ""),
    ],
)
def test_the_package_of_a_module(module: str, package: str) -> None:
    assert package_of(module) == package


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("reqeusts", "requests"),
        ("requestss", "requests"),
        ("equests", "requests"),
        ("numpi", "numpy"),
        ("python_dateutil", ""),
        ("pythondateutil", "python-dateutil"),
        ("Django", ""),
        ("djang0", "django"),
        ("cowsay", ""),
        ("rt-hello", ""),
    ],
)
def test_a_name_beside_a_well_known_one(name: str, other: str) -> None:
    assert looks_like(name) == other


def test_the_well_known_are_not_flagged_for_each_other() -> None:
    assert len(well_known()) >= 300
    assert [name for name in well_known() if looks_like(name)] == []
    assert "sklearn" in modules_of("scikit_learn")


@pytest.mark.parametrize("text", ["", "-r x", "x @ https://example.org/x.whl", "./x", "x; os_name == 'nt'", "a b"])
def test_what_names_no_package(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name"):
        name_of(text)


@pytest.mark.parametrize(
    ("language", "code", "requirements", "other"),
    [
        ("bash", "pip install rich", ["rich"], []),
        ("bash", "python3 -m pip install -qU 'rich>=13,<15' numpy==2.1", ["rich>=13,<15", "numpy==2.1"], []),
        ("sh", "pip3 install --user --no-cache-dir a; uv pip install --system b", ["a", "b"], []),
        ("bash", "sudo pip install a && echo done", ["a"], []),
        ("bash", "pip install -r requirements.txt", [], ["-r"]),
        ("bash", "pip install --index-url http://x.example a", [], ["--index-url", "http://x.example", "a"]),
        ("bash", "pip install git+https://x.example/a ./b", [], ["git+https://x.example/a", "./b"]),
        ("bash", "pip install $NAME", [], None),
        ("bash", "pip list; echo pip install a", [], []),
        ("bash", "bash -c 'pip install a'", ["a"], []),
        ("python", "import os\nos.system('pip install a')", ["a"], []),
        ("python", "import subprocess as s, sys\ns.run([sys.executable, '-m', 'pip', 'install', 'a'])", ["a"], []),
        ("python", "!pip install a b\nimport a", ["a", "b"], []),
        ("python", "%pip install -q a\nimport a", ["a"], []),
        ("python", "print('pip install a')", [], []),
        ("javascript", "pip install a", [], []),
    ],
)
def test_install_lines(language: str, code: str, requirements: list[str], other: list[str] | None) -> None:
    found = read(language, code)
    assert list(found.requirements) == requirements
    # A name that is known only at run time is none that could be granted.
    assert found.other if other is None else [text for text in found.other if text in other] == other


def test_nothing_wanted() -> None:
    assert read("python", "import rich\n") == InstallLines()
