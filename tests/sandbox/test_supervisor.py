"""How the supervisor starts itself and its blocks: as code or as text, under the limits that they inherit."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import bundle
from sandbox.executor import DockerExecutor
from sandbox.inside import lean, seccomp
from sandbox.inside.process import Limits, OutOfMemoryScore, World
from tests.sandbox import box as boxes
from tests.sandbox.box import run

docker = pytest.mark.docker

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


@given(VALUES)
def test_its_json_is_that_of_everybody(value: Any) -> None:
    assert json.loads(lean.dumps(value)) == value
    assert lean.loads(json.dumps(value)) == value
    assert lean.loads(lean.dumps(value)) == value
    assert lean.dumps(value).isascii()


@pytest.mark.parametrize("text", ["", "nonsense", "[1", "1 2", '{"a": }', "[1],", " 1"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        lean.loads(text)


def test_what_json_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="set is not for JSON"):
        lean.dumps({"a": [{1}]})


def test_only_the_named_errors_are_suppressed() -> None:
    with lean.suppress(OSError, ValueError):
        raise FileNotFoundError
    with pytest.raises(KeyError), lean.suppress(OSError, ValueError):
        raise KeyError


IMPORTS = """
import sys
sys.stdin = None
before = set(sys.modules)
sys.argv = sys.argv[:1] + sys.argv[2:]
exec(sys.argv[1].replace("module.main()", ""))
print(*sorted(set(sys.modules) - before))
"""


def test_it_loads_nothing_that_takes_long() -> None:
    _, program, *packed = bundle.arguments()
    command = [sys.executable, "-I", "-S", "-c", IMPORTS.replace("sys.argv[1].", f"{program!r}."), "", *packed]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "sandbox.supervisor" in loaded
    assert not {"collections", "contextlib", "enum", "hashlib", "json", "re", "signal", "socket", "typing"} & set(
        loaded
    )


def test_each_argument_is_one_that_linux_takes() -> None:
    assert max(map(len, bundle.arguments())) < 128 << 10


@docker
async def test_another_version_of_python_starts_it_from_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag, program, _, code, sources = bundle.arguments()
    monkeypatch.setattr(bundle, "arguments", lambda: (flag, program, "00000000", code[:40], sources))
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as box:
        assert (await run(box, "print(2+2)")).output == "4\n"


def test_a_program_that_is_not_there_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it changes the directory, and this puts it back
    world = World({"PATH": "/usr/bin:/bin"}, Limits(1 << 20, 64), seccomp.Filter(), OutOfMemoryScore())
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        world.start(["no-such-program"], "/")
    with pytest.raises(PermissionError):
        world.start(["/etc/passwd"], "/")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


LOOK = """
until grep -qx 0 /proc/1/oom_score_adj; do :; done  # a moment later, where the machine is busy
cat /proc/1/oom_score_adj /proc/self/oom_score_adj
grep -h -E 'file size|open files|core file|msgqueue' /proc/self/limits | tr -s ' '
for name in HOME LC_CTYPE PWD; do printenv $name; done
readlink /proc/self/fd/0
grep -E 'SigIgn|SigBlk' /proc/self/status
"""


@docker
@boxes.only_runc("its /proc tells less")
async def test_a_block_has_its_limits_and_is_killed_first(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as box:
        lines = (await run(box, LOOK, "bash")).output.splitlines()
    size = boxes.SMALL.file_size_mib << 20
    assert lines[:2] == ["0", "1000"]
    assert sorted(line.strip() for line in lines[2:6]) == sorted(
        [
            "Max core file size 0 0 bytes",
            f"Max file size {size} {size} bytes",
            f"Max open files {boxes.SMALL.open_files} {boxes.SMALL.open_files} files",
            "Max msgqueue size 0 0 bytes",
        ]
    )
    assert lines[6:10] == ["/home/sandbox", "C.UTF-8", "/workspace", "/dev/null"]
    blocked, ignored = (int(line.split()[1], 16) for line in lines[10:])
    # posix_spawn of glibc ignores the two signals that are glibc's own, 32 and 33.
    assert (blocked, ignored & ~(0b11 << 31)) == (0, 0)


@docker
@boxes.only_runc("its /proc tells less")
async def test_the_filter_on_the_supervisor_does_not_hide_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox import container
    from utils.errors import SandboxError

    whole = container._specification

    def unconfined(*arguments: Any) -> dict[str, Any]:
        body = whole(*arguments)
        body["HostConfig"]["SecurityOpt"].append("seccomp=unconfined")
        return body

    monkeypatch.setattr(container, "_specification", unconfined)
    box = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path)
    with pytest.raises(SandboxError, match="no seccomp filter is on"):
        await box.start()
