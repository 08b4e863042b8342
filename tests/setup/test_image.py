"""What a block finds in the image, and what it does not."""

import json
from collections.abc import Callable, Iterator

import docker
import pytest

from utils import image_recipe
from utils.docker_utils import connect, ensure_image

pytestmark = pytest.mark.docker
Run = Callable[..., str]


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="module")
def image(client: docker.DockerClient) -> str:
    return ensure_image(lambda text: None)


@pytest.fixture(scope="module")
def run(client: docker.DockerClient, image: str) -> Run:
    """Run a command in the image as the sandbox does: read-only, no network, a fresh HOME; its standard output."""

    def run(*command: str, user: str = "1000:1000") -> str:
        output = client.containers.run(
            image,
            list(command),
            user=user,
            remove=True,
            read_only=True,
            network_mode="none",
            cap_drop=["ALL"],
            tmpfs={"/tmp": "size=64m", "/home/sandbox": "size=64m,mode=1777", "/workspace": "size=64m,mode=1777"},
            environment={"HOME": "/home/sandbox"},
        )
        return bytes(output).decode()

    return run


def test_it_is_built_once(image: str) -> None:
    progress: list[str] = []
    assert ensure_image(progress.append) == image
    assert progress == []


def test_every_language_is_there(run: Run) -> None:
    commands = [language.command for language in image_recipe.languages()]
    script = "for command in " + " ".join(commands) + '; do command -v "$command" > /dev/null || echo "$command"; done'
    assert run("sh", "-c", script) == ""


def test_the_locked_packages_are_there_in_their_versions(run: Run) -> None:
    code = """
import json
from importlib.metadata import distributions
print(json.dumps({d.name.lower().replace("_", "-").replace(".", "-"): d.version for d in distributions()}))
"""
    assert json.loads(run("python3", "-I", "-c", code)) == image_recipe.packages()


@pytest.mark.parametrize("user", ["1000:1000", "65534:65534"])
def test_a_plot_is_made_without_a_word(run: Run, user: str) -> None:
    """No warning of an unwritable cache, no display."""
    code = """
import sys, warnings
warnings.simplefilter("error")
sys.stderr = sys.stdout
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.savefig("/workspace/plot.png")
with open("/workspace/plot.png", "rb") as file:
    print(plt.get_backend().lower(), file.read(4))
"""
    assert run("python3", "-I", "-c", code, user=user) == "agg b'\\x89PNG'\n"


def test_the_list_of_fonts_is_made_already(run: Run) -> None:
    """A home directory that links to /opt/sandbox/home has it, though it is not writable there."""
    script = """
cp -rs /opt/sandbox/home/. ~ && python3 -I -c '
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(message)s")
import matplotlib.font_manager
'
"""
    said = run("sh", "-c", script)
    assert "Using fontManager instance from /home/sandbox/.cache/matplotlib/fontlist" in said
    assert "generated new fontManager" not in said


def test_modules_are_compiled_already(run: Run) -> None:
    """The root is read-only: what is not compiled in the image is compiled anew in every block."""
    code = """
import asyncio, importlib.util, os, sysconfig
site = sysconfig.get_path("purelib")
folders = [os.path.dirname(asyncio.__file__), *(f"{site}/{name}" for name in ("numpy", "pandas/core", "matplotlib"))]
files = [os.path.join(path, name) for folder in folders for path, _, names in os.walk(folder) for name in names]
sources = [file for file in files if file.endswith(".py")]
print(len(sources) > 500, [s for s in sources if not os.path.exists(importlib.util.cache_from_source(s))])
"""
    assert run("python3", "-I", "-c", code) == "True []\n"


def test_no_program_is_setuid_and_the_user_is_nobody_special(run: Run) -> None:
    assert run("find", "/", "-xdev", "-perm", "/6000", "-type", "f", user="0:0") == ""
    assert run("id") == "uid=1000(sandbox) gid=1000(sandbox) groups=1000(sandbox)\n"


def test_nothing_of_the_checkout_or_the_build_is_in_it(run: Run) -> None:
    assert run("ls", "/opt") == "sandbox\n"
    assert run("sh", "-c", "ls -d /wheels /workspace/* 2> /dev/null || true") == ""


def test_its_labels_tell_what_is_in_it(client: docker.DockerClient, image: str) -> None:
    labels = client.images.get(image).labels
    assert labels["roundtable.languages"] == "python,bash,sh,javascript,c,c++,perl"
    listed = dict(entry.split("=", 1) for entry in labels["roundtable.packages"].split(","))
    assert listed == image_recipe.packages()
