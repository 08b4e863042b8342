"""Wheels handed into a running container and installed there by a user that no block is."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sandbox.answers import plain
from sandbox.engine import Engine, EngineError
from sandbox.posture import PACKAGES
from sandbox.threads import in_thread
from utils.errors import SandboxError

_CHUNK_BYTES = 256 << 10
_MAX_LINES = 20


class NotInstalledError(Exception):
    """pip refused inside the container; the text is its own."""


@cache
def _source() -> str:
    return (Path(__file__).resolve().parent.parent / "inside" / "install.py").read_text("utf-8")


async def hand_in(engine: Engine, container: str, user: int, path: str, wheels: Sequence[Path]) -> None:
    """Install wheels in a container, between blocks. `path`: PATH there.

    Raises `NotInstalledError`, and `SandboxError` where the container failed. A cancel leaves the installer running:
    the container cannot be used then.
    """
    body: dict[str, Any] = {
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "User": f"{user}:{user}",
        "WorkingDir": PACKAGES,
        "Env": [f"PATH={path}"],
        "Cmd": ["python3", "-I", "-c", _source()],
    }
    try:
        reader, writer = await engine.execute(container, body)
    except EngineError as error:
        raise SandboxError(f"Packages could not be handed into the sandbox: {error.message}.") from error
    try:
        listed = [[wheel.name, (await in_thread(wheel.stat)).st_size] for wheel in wheels]
        writer.write(json.dumps({"wheels": listed}).encode() + b"\n")
        # Both at once: an installer that complains must be heard while it is still being sent wheels.
        sending = asyncio.create_task(_send(writer, wheels))
        try:
            answer = await _answer(reader)
        finally:
            sending.cancel()
            await asyncio.wait({sending})
    finally:
        writer.close()
    if answer["exit_code"]:
        raise NotInstalledError("\n".join(map(plain, str(answer.get("text", "")).splitlines()[-_MAX_LINES:])))


async def _send(writer: asyncio.StreamWriter, wheels: Sequence[Path]) -> None:
    with contextlib.suppress(OSError):
        for wheel in wheels:
            with wheel.open("rb") as file:
                while data := await in_thread(lambda file=file: file.read(_CHUNK_BYTES)):  # type: ignore[misc]  # mypy cannot infer a lambda with a default
                    writer.write(data)
                    await writer.drain()


async def _answer(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The installer's last line. It alone writes there: no block runs meanwhile."""
    output = b""
    with contextlib.suppress(asyncio.IncompleteReadError, OSError):
        while True:
            head = await reader.readexactly(8)
            piece = await reader.readexactly(int.from_bytes(head[4:], "big"))
            output = (output + piece)[-65536:]
    try:
        answer = json.loads(output.strip().rpartition(b"\n")[2])
        if not isinstance(answer, dict) or type(answer.get("exit_code")) is not int:
            raise ValueError("no answer")
    except (ValueError, RecursionError) as error:
        said = output.decode("utf-8", "replace").strip().splitlines()
        raise SandboxError(
            f"Packages could not be installed in the sandbox{f' ({plain(said[-1])})' if said else ''}.",
            "The image needs python3 and pip for it.",
        ) from error
    return answer
