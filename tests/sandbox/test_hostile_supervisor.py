"""A supervisor that is somebody else's and has the key: nothing but a `SandboxError`, and the container is gone."""

import asyncio
import os
from pathlib import Path

import pytest

from sandbox import block_run, bundle
from sandbox.answers import checked, plain
from sandbox.executor import DockerExecutor
from sandbox.inside import frames, lean
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from utils.errors import SandboxError

HOSTILE = """
import json, os, struct
DONE = dict(id=1, exit_code=0, signal=0, why="", oom=False, dropped=0, duration_s=0.1, gone=[], left=[], left_more=0,
            notes=[], spoilt="")
def raw(link, kind, text, data=b""):
    view = memoryview(link._sender.frame(kind, struct.pack("!I", len(text)) + text.encode() + data))
    while view:
        view = view[os.write(1, view):]
def send(self, kind, data=b"", **fields):
    raw(self._link, kind, json.dumps(fields), data)
def file(self, path, data=b"x", first=True, last=True):
    send(self, 68, data, path=path, first=first, last=last)
def done(self, **fields):
    send(self, 69, **{**DONE, **fields})
def hostile(self, fields, code):
    DONE["id"] = fields["id"]
    exec(code.decode())
module.Supervisor._run = hostile
"""


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    flag, program, *rest = bundle.arguments()
    program = program.replace("module.main()", HOSTILE + "module.main()")
    monkeypatch.setattr(bundle, "arguments", lambda: (flag, program, *rest))
    monkeypatch.setattr(block_run, "OUTER_GRACE_S", 0.5)
    monkeypatch.setattr(block_run, "FILES_GRACE_S", 0.5)


REFUSED = {
    "a depth bomb": "raw(self._link, 69, '{\"a\":' * 100000)",
    "a depth bomb of lists": "raw(self._link, 67, '[' * 1000000)",
    "not a number": 'raw(self._link, 69, json.dumps({**DONE, "duration_s": float("nan")}))',
    "infinity": 'raw(self._link, 69, json.dumps({**DONE, "duration_s": 1e400}))',
    "a number that overflows": 'raw(self._link, 69, json.dumps(DONE).replace("0.1", "1e999"))',
    "an endless number": 'raw(self._link, 69, json.dumps(DONE).replace("0.1", "9" * 5000))',
    "a number for a text": "done(self, spoilt=7)",
    "a text for a number": "done(self, exit_code='0')",
    "an exit code that is none": "done(self, exit_code=-1)",
    "a truth for a number": "done(self, signal=True)",
    "lists as names": "done(self, gone=[[]])",
    "triples that should be pairs": "done(self, left=[['a', 'b', 'c']])",
    "the end of another block": "done(self, id=99)",
    "no fields": "raw(self._link, 69, '{}')",
    "a list for fields": "raw(self._link, 66, '[1]', b'x')",
    "null for fields": "raw(self._link, 71, 'null')",
    "another stream": "send(self, 66, b'x', stream=3)",
    "an unhashable stream": "send(self, 66, b'x', stream=[])",
    "a kind that there is not": "send(self, 200)",
    "a frame of the host": "send(self, 4, id=1)",
    "a length beyond the frame": "os.write(1, self._link._sender.frame(69, b'\\xff\\xff\\xff\\xff'))",
    "no length": "os.write(1, self._link._sender.frame(69, b'x'))",
    "a frame of 4 GiB": "os.write(1, b'\\xff' * 21)",
    "text that is none": "os.write(1, self._link._sender.frame(69, b'\\0\\0\\0\\1\\xff'))",
    "a number for a path": "file(self, 7)",
    "a path that is a list": "file(self, ['x'])",
    "no path": "send(self, 68, b'x', first=True, last=True)",
    "no last": "send(self, 68, b'x', path='x', first=True)",
    "endless output": "while True: send(self, 66, b'x' * 60000, stream=1)",
    "endless ends of the output": "while True: send(self, 67, dropped=1)",
    "endless empty pieces": "file(self, 'x', last=False)\nwhile True: file(self, 'x', b'', False, False)",
    "endless empty ends": "while True: file(self, 'x', b'', True, True)",
    "a piece of no file": "file(self, 'x', b'x', False, False)",
    "files without end": "for n in range(10 ** 9): file(self, f'f{n}')",
    "a failure with a message that is none": "send(self, 70, message=None)",
    "a failure with an escape": "send(self, 70, message='\\x1b]0;title\\x07' * 1000)",
    "the end": "os._exit(0)",
    "the end with a complaint": "os.write(2, b'\\x1b[2J\\x1b]52;c;eA==\\x07'); os._exit(1)",
}


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("hostile")
async def test_what_it_sends_is_refused(tmp_path: Path) -> None:
    policy = boxes.policy(timeout_s=5)
    async with DockerExecutor(policy=policy, work_dir=tmp_path / "work") as box:
        for what, code in REFUSED.items():
            with pytest.raises(SandboxError) as raised:
                await asyncio.wait_for(run(box, code), 20)
            assert str(raised.value).isprintable(), what
            assert len(str(raised.value)) < 1000, what
            assert boxes.containers(box.container_name) == [], what
        assert {name for name in boxes.names(tmp_path) if "part" in name} == set()


STOPPED = {
    "pieces of a file that was refused": "n = 0\nwhile True: file(self, '.x', b'x', n == 0, False); n = 1",
    "silence": "__import__('time').sleep(1000)",
    "endless silence in frames": "while True: send(self, 71, warm=True)",
    "endless nothing as output": "while True: send(self, 66, stream=1)",
    "a byte now and then": "while True: file(self, 'x', b'x', not os.getppid() and not globals().get('n'), False); "
    "globals()['n'] = 1; __import__('time').sleep(0.2)",
}


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("what", STOPPED)
@pytest.mark.usefixtures("hostile")
async def test_what_never_ends_is_ended(what: str, tmp_path: Path) -> None:
    policy = boxes.policy(timeout_s=1, files_out_mib=1)
    async with DockerExecutor(policy=policy, work_dir=tmp_path / "work") as box:
        with pytest.raises(SandboxError, match="did not end the block"):
            await asyncio.wait_for(run(box, STOPPED[what]), 20)
        assert boxes.containers(box.container_name) == []


NAMES = """
for path in ("../up", "/tmp/red", "a/../../up", "", "/", ".", "..", "a//b", "a\\0b", ".git/hooks/pre-commit", "a/.b",
             "x\\x1b[2J", "bidi\\u202e", "\\udcff", "d/" * 40 + "f", "d/" * 4000000 + "f", "n" * 100000):
    file(self, path)
file(self, "good/file", b"data", first=True, last=False)
file(self, "good/file", b"", first=False, last=True)
send(self, 66, b"out", stream=1)
done(self, notes=["note \\x1b[31m\\r" + "n" * 10000], left=[["x\\x1b]0;t\\x07", "\\x1b[2J reason"]],
     gone=["../../etc/passwd", "/etc/passwd", "mine", "\\udcff"])
"""


@pytest.mark.docker
@pytest.mark.usefixtures("hostile")
async def test_names_and_texts_do_no_harm(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine").write_text("mine")
    async with DockerExecutor(policy=boxes.SMALL, work_dir=work) as box:
        result = await run(box, NAMES)
    assert [change.path for change in result.files] == ["good/file"]
    assert sorted(os.listdir(work)) == ["good", "mine"]
    assert boxes.names(tmp_path) == {"work/good/file", "work/mine"}
    assert all(text.isprintable() and len(text) < 1000 for text in (*result.notes, *result.left_behind))


FACTS = {
    "a number for the limits": "facts['memory_bytes'] = 'x'",
    "users that are none": "facts['ids'] = [[]]",
    "no commands": "del facts['commands']",
    "a machine that is a path": "facts['machine'] = '../../../../tmp/red'",
    "a Python that is an option": "facts['python'] = '3.11 --index-url=x'",
    "sizes that are none": "facts['tmpfs'] = {'/tmp': 3}",
    "an escape": "facts['restricted'] = '\\x1b[2J'",
    "places with escapes": "facts['writable'] = ['\\x1b[2J']",
}


@pytest.mark.docker
@pytest.mark.parametrize("what", FACTS)
async def test_what_it_tells_of_itself(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flag, program, *rest = bundle.arguments()
    change = (
        f"\ntold = module.posture.report\ndef report(*a):\n    facts = told(*a)\n    {FACTS[what]}\n    return facts\n"
    )
    if "restricted" in FACTS[what]:
        change = "\ndef restrict(self): raise OSError(1, '\\x1b[2J')\nmodule.process.World.restrict = restrict\n"
    else:
        change += "module.posture.report = report\n"
    program = program.replace("module.main()", change + "module.main()")
    monkeypatch.setattr(bundle, "arguments", lambda: (flag, program, *rest))
    box = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path)
    with pytest.raises(SandboxError) as raised:
        await box.start()
    assert str(raised.value).isprintable()
    assert boxes.containers(box.container_name) == []


@pytest.mark.parametrize("text", ["NaN", "[-Infinity]", "[" * 100_000, '{"a":' * 100_000])
def test_what_is_no_json_of_ours(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON"):
        lean.loads(text)


def test_texts_for_humans_are_plain() -> None:
    assert plain("a\x1b[2J\n\u202e") == "a\\x1b[2J\\n\\u202e"
    assert checked(frames.FAULT, {"message": "x" * 10_000}) == {"message": "x" * 500}
