"""Warm start: what a block can see of it, compared with a fresh process, and that it is nobody else's."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio

from sandbox.base import ExecutionResult
from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes
from tests.sandbox.box import run

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[DockerExecutor, DockerExecutor]]:
    """A sandbox that starts blocks fresh, and one that starts them warm."""
    fresh = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path_factory.mktemp("fresh"))
    policy = boxes.policy(warm=True, warm_imports=("json", "no_such_module"))
    warm = DockerExecutor(policy=policy, work_dir=tmp_path_factory.mktemp("warm"))
    async with fresh, warm:
        yield fresh, warm


def programs() -> dict[str, str]:
    text = (Path(__file__).parent / "warm_programs.txt").read_text("utf-8")
    parts = [part.partition("\n") for part in text.split("\n### ")[1:]]
    return {name: code for name, _, code in parts}


PROGRAMS = programs()


async def both_streams(box: DockerExecutor, code: str) -> tuple[ExecutionResult, dict[str, str]]:
    streams = {"stdout": "", "stderr": ""}

    def take(stream: Literal["stdout", "stderr"], text: str) -> None:
        streams[stream] += text

    return await run(box, code, on_output=take), streams


@pytest.mark.parametrize("name", PROGRAMS)
async def test_fresh_and_warm_look_the_same(name: str, both: tuple[DockerExecutor, DockerExecutor]) -> None:
    fresh, warm = both
    await warm.until_warm()
    (expected, expected_streams), (result, streams) = await asyncio.gather(
        both_streams(fresh, PROGRAMS[name]), both_streams(warm, PROGRAMS[name])
    )
    assert streams == expected_streams
    assert (result.exit_code, result.signal, result.timed_out) == (expected.exit_code, expected.signal, False)
    assert [change.path for change in result.files] == [change.path for change in expected.files]
    assert result.notes == expected.notes
    if result.files:
        for box in both:
            await boxes.empty_workspace(box)


async def test_a_warm_process_that_has_numpy(tmp_path: Path) -> None:
    code = "import numpy as n\nn.random.seed(3)\nprint(n.arange(3) * 2, n.random.rand(), n.geterr(), n.__file__)"
    policy = boxes.policy(warm=True, warm_imports=("numpy",))
    async with DockerExecutor(policy=policy, work_dir=tmp_path) as own:
        fresh = await run(own, code)
        await own.until_warm()
        assert (await run(own, code)).output == fresh.output


async def test_it_is_the_warm_process_that_ran(both: tuple[DockerExecutor, DockerExecutor]) -> None:
    fresh, warm = both
    code = "import sys; print('json' in sys.modules)"
    assert (await run(fresh, code)).output == "False\n"
    await warm.until_warm()
    assert (await run(warm, code)).output == "True\n"
    # None is ready right after a block: a fresh process then. Several, as a busy machine may be late with the next one.
    assert "False\n" in [(await run(warm, code)).output for _ in range(5)]


async def test_no_block_sees_what_another_left(both: tuple[DockerExecutor, DockerExecutor]) -> None:
    _, warm = both
    code = """
import builtins, os, random, sys
print(getattr(builtins, 'mark', None), getattr(sys, 'mark', None), os.environ.get('MARK'))
builtins.mark = sys.mark = os.environ['MARK'] = 'seen'
sys.modules['json'] = None
print(random.random())
"""
    outputs = []
    for _ in range(3):
        await warm.until_warm()
        outputs.append((await run(warm, code)).output.splitlines())
    assert {output[0] for output in outputs} == {"None None None"}
    assert len({output[1] for output in outputs}) == 3


async def test_case_30_the_warm_process_ignores_what_is_planted(both: tuple[DockerExecutor, DockerExecutor]) -> None:
    _, warm = both
    plant = """
import os, site
user = site.getusersitepackages()
os.makedirs(user)
for folder in ('.', user):
    for name in ('json.py', 'json.pth', 'sitecustomize.py', 'usercustomize.py', 'encodings.py', 'no_such_module.py'):
        open(os.path.join(folder, name), 'w').write('import os; os.write(1, b"planted"); os.write(2, b"planted")')
"""
    assert (await run(warm, plant)).exit_code == 0
    await warm.until_warm()
    result = await run(warm, "import sys; print(sys.modules['json'].__file__, 'no_such_module' in sys.modules)")
    assert result.output.startswith("/usr/lib/python3") or result.output.startswith("/usr/local/lib/python3")
    assert result.output.endswith("/json/__init__.py False\n")
    await boxes.empty_workspace(warm)


async def test_it_is_gone_before_any_other_block_starts(both: tuple[DockerExecutor, DockerExecutor]) -> None:
    _, warm = both
    await warm.until_warm()
    result = await run(warm, "for p in /proc/[0-9]*; do echo $(tr '\\0' ' ' < $p/cmdline | cut -c1-40); done", "bash")
    assert "no_such_module" not in result.output
    assert "python3 -c" not in result.output
    await boxes.check_clean(warm)


async def test_the_time_limit_holds_for_it_too(tmp_path: Path) -> None:
    policy = boxes.policy(warm=True, warm_imports=("json",), timeout_s=1)
    async with DockerExecutor(policy=policy, work_dir=tmp_path) as own:
        await own.until_warm()
        assert (await run(own, "while True: pass")).timed_out
        await own.until_warm()
        await boxes.check_clean(own)


@boxes.only_runc("it costs the container, as test_gvisor.py shows")
async def test_the_memory_limit_holds_for_it_too(both: tuple[DockerExecutor, DockerExecutor]) -> None:
    _, warm = both
    await warm.until_warm()
    result = await run(warm, "data = []\nwhile True: data.append(b'x' * (8 << 20))")
    assert (result.exit_code, result.oom) == (137, True)
    await warm.until_warm()
    await boxes.check_clean(warm)


@boxes.only_runc("ls cannot list its /proc")
async def test_no_warm_process_where_the_environment_could_lead_it(tmp_path: Path) -> None:
    policy = boxes.policy(warm=True, env=("PYTHONPATH",))
    async with DockerExecutor(policy=policy, environ={"PYTHONPATH": "/workspace"}, work_dir=tmp_path) as own:
        await run(own, "open('numpy.py', 'w').write('print(\"planted\")')")
        result = await run(own, "ls /proc | grep -c '^[0-9]'", "bash")
        assert int(result.output) <= 5
        assert (await run(own, "import numpy")).output == "planted\n"
