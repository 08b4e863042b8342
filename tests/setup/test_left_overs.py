"""Left-over containers go when their owner is certainly gone, and only then."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import docker
import pytest
from docker.errors import NotFound

from utils.docker_utils import OWNER_LABEL, connect, ensure_image, owner_label_value, remove_left_overs

pytestmark = pytest.mark.docker
Make = Callable[[str], str]


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture
def make(client: docker.DockerClient) -> Iterator[Make]:
    """Create (not start) a container with an owner label; removed at the end."""
    names = []

    def create(owner: str) -> str:
        name = f"roundtable-test-{uuid.uuid4().hex[:12]}"
        client.containers.create(ensure_image(lambda text: None), ["true"], name=name, labels={OWNER_LABEL: owner})
        names.append(name)
        return name

    yield create
    for name in names:
        try:
            client.containers.get(name).remove(force=True)
        except NotFound:
            continue


def is_gone(client: docker.DockerClient, name: str) -> bool:
    """Another test's program may be at its removal: then its end is waited for."""
    deadline = time.monotonic() + 20
    while is_there(client, name):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_there(client: docker.DockerClient, name: str) -> bool:
    try:
        client.containers.get(name)
    except NotFound:
        return False
    return True


def dead_owner() -> str:
    """Label of a process that has ended."""
    code = "from utils.docker_utils import owner_label_value; print(owner_label_value())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def changed(field: int, value: str) -> str:
    """Label of a dead owner with one field changed: host, boot, namespace, pid, start time."""
    parts = dead_owner().split()
    parts[field] = value
    return " ".join(parts)


def test_a_dead_owners_container_goes(client: docker.DockerClient, make: Make) -> None:
    name = make(dead_owner())
    remove_left_overs()
    assert is_gone(client, name)


def test_a_pid_taken_by_another_process_is_a_dead_owner(client: docker.DockerClient, make: Make) -> None:
    name = make(changed(3, str(os.getpid())))
    remove_left_overs()
    assert is_gone(client, name)


def test_a_stopped_container_of_an_earlier_boot_goes(client: docker.DockerClient, make: Make) -> None:
    name = make(changed(1, str(uuid.uuid4())))
    remove_left_overs()
    assert is_gone(client, name)


def test_what_may_belong_to_someone_stays(client: docker.DockerClient, make: Make) -> None:
    others = [
        owner_label_value(),
        changed(0, "0123456789abcdef"),
        changed(2, "pid:[1]"),
        changed(3, "-1"),
        "",
        "1",
        "🙂 a b c d e",
    ]
    names = [make(owner) for owner in others]
    assert set(remove_left_overs()).isdisjoint(names)
    assert [is_there(client, name) for name in names] == [True] * len(names)


def test_a_running_container_of_a_dead_owner_goes(client: docker.DockerClient, make: Make) -> None:
    name = f"roundtable-test-{uuid.uuid4().hex[:12]}"
    image = ensure_image(lambda text: None)
    labels = {OWNER_LABEL: dead_owner()}
    client.containers.run(image, ["sleep", "60"], name=name, labels=labels, detach=True, network_mode="none")
    remove_left_overs()
    assert is_gone(client, name)
