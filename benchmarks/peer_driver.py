"""Drives another executor: reads a request a line, answers each in a line. Run by the Python that has the executor.

`python peer_driver.py NAME IMAGE LABEL`. Requests: `{"do": "start"}`, `{"do": "block", "code": ...}`, `{"do": "stop"}`;
answers: `{"seconds": ..., "output": ...}` or `{"error": ...}`. Containers bear the label.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from importlib import import_module
from typing import Any


class LlmSandbox:
    """llm-sandbox: each block is a file copied into the container, and a fresh Python."""

    def __init__(self, image: str, label: str) -> None:
        # By name, here and below: the packages are not there where the types are checked.
        self._make = import_module("llm_sandbox").SandboxSession
        # Its own set-up upgrades pip over the network; with an image that has what it needs, it may be skipped.
        self._arguments = {
            "image": image,
            "lang": "python",
            "skip_environment_setup": True,
            "runtime_configs": {"labels": {label: ""}},
        }
        self._session: Any = None

    def start(self) -> None:
        """Start a container; one that was started before is left to itself."""
        self._session = self._make(**self._arguments)
        self._session.open()

    def block(self, code: str) -> str:
        """What a block prints."""
        result = self._session.run(code)
        if result.exit_code:
            raise RuntimeError(f"status {result.exit_code}: {result.stderr}")
        return str(result.stdout)

    def stop(self) -> None:
        """Remove the container."""
        self._session.close()


class Smolagents:
    """smolagents: a Jupyter kernel gateway in the container, whose one kernel keeps its state."""

    GATEWAY = ("python3", "-m", "jupyter", "kernelgateway")
    OPTIONS = ("--KernelGatewayApp.ip=0.0.0.0", "--KernelGatewayApp.port=8888")

    def __init__(self, image: str, label: str) -> None:
        monitoring = import_module("smolagents.monitoring")
        self._make = import_module("smolagents.remote_executors").DockerExecutor
        self._logger = monitoring.AgentLogger(level=monitoring.LogLevel.OFF)
        self._image = image
        self._container = {"labels": {label: ""}, "command": [*self.GATEWAY, *self.OPTIONS]}
        self._executor: Any = None

    def start(self) -> None:
        """Start a container and its kernel."""
        self._executor = self._make(
            [],
            self._logger,
            port=_free_port(),
            image_name=self._image,
            build_new_image=False,
            container_run_kwargs=dict(self._container),
        )

    def block(self, code: str) -> str:
        """What a block prints."""
        return str(self._executor(code).logs)

    def stop(self) -> None:
        """Remove the container."""
        self._executor.cleanup()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


DRIVERS: dict[str, type[LlmSandbox] | type[Smolagents]] = {"llm-sandbox": LlmSandbox, "smolagents": Smolagents}


def _answer(driver: LlmSandbox | Smolagents, request: dict[str, str]) -> dict[str, object]:
    started = time.perf_counter()
    output = driver.block(request["code"]) if request["do"] == "block" else getattr(driver, request["do"])()
    return {"seconds": time.perf_counter() - started, "output": output or ""}


def main(name: str, image: str, label: str) -> None:
    """Answer until the requests end."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the executor itself prints is no answer
    driver: LlmSandbox | Smolagents | None = None
    for line in sys.stdin:
        try:
            driver = driver or DRIVERS[name](image, label)
            answer = _answer(driver, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
