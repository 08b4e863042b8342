from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def warm_box(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DockerExecutor]:
    """One container for the tests of a module."""
    executor = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path_factory.mktemp("work"))
    await executor.start()
    yield executor
    await executor.stop()
    assert boxes.containers(executor.container_name) == []


@pytest_asyncio.fixture(loop_scope="module")
async def box(warm_box: DockerExecutor) -> AsyncIterator[DockerExecutor]:
    """The module's container; after the test it must still run blocks, and nothing of the test be left in it."""
    yield warm_box
    await boxes.empty_workspace(warm_box)
    await boxes.check_clean(warm_box)
    assert boxes.names(warm_box.work_dir) == set()


@pytest_asyncio.fixture(loop_scope="module")
async def own_box(tmp_path: Path) -> AsyncIterator[DockerExecutor]:
    """A container for one test, which may ruin it."""
    executor = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path / "work")
    await executor.start()
    yield executor
    await boxes.check_clean(executor)
    await executor.stop()
    assert boxes.containers(executor.container_name) == []


collect_ignore = [] if "runsc" in boxes.RUNTIME else ["test_gvisor.py"]
"""It takes an engine that has gVisor: `make test-runsc`."""
