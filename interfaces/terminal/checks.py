"""What `doctor` looks at: each check is one line, ok or what to do."""

from __future__ import annotations

import platform
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from utils.errors import RoundtableError, SandboxError
from utils.settings import ROOT, Settings

if TYPE_CHECKING:
    from sandbox.policy import SandboxPolicy
    from utils.model_profiles import Profile

LEAST_FREE_BYTES = 500_000_000
"""Free space below which sessions and images soon run into trouble."""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)")


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    name: str
    ok: bool
    text: str
    """What was found, and where it is not ok, what to do."""


def check_python() -> Finding:
    """The interpreter that runs this."""
    version = platform.python_version()
    return Finding("Python", True, f"{version} ({platform.python_implementation()}, {platform.machine()})")


def check_packages(lock: Path = ROOT / "requirements.txt") -> Finding:
    """Whether what is installed is what the lock names."""
    mend = "Do: pip install -r requirements.txt, or make setup."
    try:
        lines = lock.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return Finding("packages", False, f"{lock} cannot be read. Put it back, from the project's repository.")
    pins = [pin for line in lines if (pin := _PIN.match(line)) and _applies(line)]
    wrong = [text for pin in pins if (text := _differs(pin[1], pin[2]))]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return Finding("packages", False, f"{', '.join(wrong[:3])}{more}. {mend}")
    return Finding("packages", True, f"{len(pins)}, as locked")


def _applies(line: str) -> bool:
    """Whether a pin is for this platform, by its marker."""
    _, semicolon, marker = line.partition(";")
    if not semicolon:
        return True
    from packaging.markers import Marker

    return Marker(marker.partition("#")[0].strip()).evaluate()


def _differs(name: str, version: str) -> str:
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing"
    return "" if installed == version else f"{name} is {installed}, not {version}"


def check_engine() -> Finding:
    """Whether a Docker engine answers."""
    from utils.docker_utils import engine_version

    try:
        return Finding("Docker", True, f"engine {engine_version()}")
    except SandboxError as error:
        return Finding("Docker", False, str(error))


def check_image(policy: SandboxPolicy) -> Finding:
    """Whether the sandbox image is there."""
    from docker.errors import DockerException, ImageNotFound

    from utils.docker_utils import connect, image_name

    name = policy.image or image_name(policy.variant)
    client = connect()
    try:
        client.images.get(name)
    except ImageNotFound:
        own = "make image" if policy.variant == "default" else "make image-full"
        make = f"docker pull {name}" if policy.image else f"{own} (the first task does it, too)"
        return Finding("image", False, f"{name} is not there. Do: {make}.")
    except DockerException as error:
        return Finding("image", False, f"{name}: {error}")
    finally:
        client.close()
    return Finding("image", True, name)


async def check_sandbox(policy: SandboxPolicy, settings: Settings) -> Finding:
    """Whether a sandbox starts, is inside what sandbox.yaml promises, and runs a block."""
    from autogen_core import CancellationToken

    from sandbox.choice import is_local
    from sandbox.executor import DockerExecutor
    from sandbox.posture import is_gvisor

    if is_local(policy):
        where = f"runtime: {policy.runtime} in {settings.sandbox_file}"
        text = f"{where} is NO SANDBOX: nothing is limited. Remove the line."
        return Finding("limits", False, text)
    box = DockerExecutor(policy=policy, environ=settings.environ)
    try:
        # The start itself compares every limit, seen from inside, with sandbox.yaml, and fails where one differs.
        await box.start()
        result = await box.run("bash", "echo $((2 + 2))", cancellation_token=CancellationToken())
    except RoundtableError as error:
        return Finding("limits", False, str(error))
    finally:
        await box.stop()
    if result.exit_code != 0 or result.output.strip() != "4":
        return Finding("limits", False, f"A first block failed: {result.output.strip()[:100]}. Try: doctor --attack.")
    network = {"none": "no network", "ask": "network when granted"}.get(policy.network, "NETWORK OPEN")
    limits = ", ".join(f"{name} {value}" for name, value in box.info.limits.items())
    # Its start cannot compare what gVisor does not show; the engine sets that limit on gVisor itself.
    honoured = "honoured by gVisor, memory by the engine" if is_gvisor(policy) else "honoured"
    return Finding("limits", True, f"{honoured}: {network}, {limits}")


def check_left_overs() -> Finding:
    """Remove containers of programs that died."""
    from utils.docker_utils import remove_left_overs

    removed = remove_left_overs()
    return Finding("left-overs", True, f"removed: {', '.join(removed)}" if removed else "none")


async def check_model(settings: Settings, *, ping: bool) -> AsyncIterator[Finding]:
    """Whether a model is configured for each agent, and with `ping` whether it answers."""
    from utils.models import Models

    try:
        models = Models.load(settings.models_file, settings.environ)
    except RoundtableError as error:
        yield Finding("models", False, str(error))
        return
    told: set[str] = set()
    for agent in dict.fromkeys(("code_generator", "safety_reviewer", *models.agents, *settings.agent_models)):
        try:
            profile = models.for_agent(agent, own=settings.agent_models.get(agent, ""), chosen=settings.model)
        except RoundtableError as error:
            finding = Finding("model", False, str(error))
        else:
            finding = Finding("model", True, profile.label)
        if finding.text in told:
            continue
        told.add(finding.text)
        yield finding
        if ping and finding.ok:
            yield await _answers(profile)


async def _answers(profile: Profile) -> Finding:
    from utils.model_probes import ping

    started = time.monotonic()
    try:
        await ping(profile)
    except RoundtableError as error:
        return Finding("ping", False, str(error))
    return Finding("ping", True, f"{profile.label} answered in {time.monotonic() - started:.1f} s")


def check_prompts(settings: Settings) -> Finding:
    """Whether the prompts can be read."""
    from utils.prompts import PROMPTS, is_edited

    paths = [settings.prompts_dir / f"{agent}.md" for agent in ("code_generator", "safety_reviewer")]
    for path in paths:
        try:
            path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            mend = f"Put it back, from the project's repository: {PROMPTS.name}/{path.name}."
            return Finding("prompts", False, f"{path}: {reason}. {mend}")
    edited = [path.stem for path in paths if is_edited(path)]
    return Finding("prompts", True, f"edited: {', '.join(edited)}" if edited else "as shipped")


def check_data_dir(settings: Settings) -> Finding:
    """Whether sessions can be kept."""
    from sessions.sqlite_store import SqliteStore

    try:
        with tempfile.NamedTemporaryFile(dir=settings.data_dir) as file:
            file.write(b"\0" * 4096)
        SqliteStore.from_settings(settings).close()
    except OSError as error:
        reason = error.strerror or str(error)
        return Finding("data", False, f"{settings.data_dir}: {reason}. Name another with --data-dir DIR.")
    except RoundtableError as error:
        return Finding("data", False, str(error))
    return Finding("data", True, f"{settings.data_dir} can be written")


def check_disk(settings: Settings) -> Finding:
    """Whether there is room."""
    free = shutil.disk_usage(settings.data_dir).free
    text = f"{free / 1e9:.1f} GB free at {settings.data_dir}"
    if free < LEAST_FREE_BYTES:
        return Finding("disk", False, f"only {text}. Make room, or name another place with --data-dir DIR.")
    return Finding("disk", True, text)
