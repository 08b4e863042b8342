"""The constructor arguments of AutoGen's Docker executor: which are taken over, and which would break a promise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.errors import ConfigurationError

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")


def refuse(
    *,
    container_name: str | None,
    work_dir: Path | str | None,
    bind_dir: Path | str | None,
    auto_remove: bool,
    stop_container: bool,
    device_requests: Sequence[Any] | None,
    extra_volumes: Mapping[str, Any] | None,
    extra_hosts: Mapping[str, str] | None,
    init_command: str | None,
    network: str,
) -> None:
    """Raise `ConfigurationError` for an argument that cannot be kept together with what the sandbox promises."""
    elsewhere = bind_dir is not None and (work_dir is None or Path(bind_dir).resolve() != Path(work_dir).resolve())
    refusals = {
        "container_name": (
            bool(container_name) and not _NAME.fullmatch(str(container_name)),
            "Docker's names are of letters, digits and `_.-`",
        ),
        "bind_dir": (elsewhere, "no path of the host is mounted; files travel to and from work_dir"),
        "extra_volumes": (bool(extra_volumes), "no path of the host is mounted; use put_files"),
        "device_requests": (bool(device_requests), "no device of the host is passed in"),
        "init_command": (bool(init_command), "nothing runs that was not given as a block; run it as the first one"),
        "auto_remove": (not auto_remove, "a container is always removed; its files are in work_dir"),
        "stop_container": (not stop_container, "a container never outlives the program"),
        "extra_hosts": (bool(extra_hosts) and network == "none", "there is no network that could reach them"),
    }
    for name, (given, reason) in refusals.items():
        if given:
            raise ConfigurationError(f"DockerExecutor does not take this {name}: {reason}.", "Leave it out.")
