"""One hardened container: made, checked from inside, talked to, removed."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox import bundle
from sandbox.channel import Channel
from sandbox.engine import Engine, EngineError
from sandbox.inside import frames
from sandbox.languages import TABLE
from sandbox.packages.hand_in import hand_in
from sandbox.packages.wheels import Target
from sandbox.policy import MIB, SandboxPolicy
from sandbox.posture import HOME, PACKAGES, WORKSPACE, broken_promises, is_gvisor, places, processes
from utils.docker_utils import OWNER_LABEL, image_name, owner_label_value
from utils.errors import ConfigurationError, ImageMissingError, RoundtableError, SandboxError

PATH = "/opt/sandbox/bin:/usr/local/bin:/usr/bin:/bin"
HOME_SKELETON = "/opt/sandbox/home"
"""Directory of the image whose files a fresh home directory links to, such as matplotlib's list of fonts."""


_OFFLINE = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
"""Where there is no network, pip says at once what it lacks instead of trying for half a minute."""


class Container:
    """A container whose supervisor has answered and whose posture is as promised."""

    def __init__(self, engine: Engine, identifier: str, channel: Channel) -> None:
        self._engine = engine
        self.loop = asyncio.get_running_loop()
        """Where its stream belongs."""
        self.identifier = identifier
        self.channel = channel
        self.warm = False
        """A warm process is known to be ready."""
        self.languages: tuple[str, ...] = ()
        """Canonical names of the languages that the image turned out to have."""
        self.target = Target("", "", 0)
        """The Python that wheels must fit."""

    @classmethod
    async def start(
        cls, name: str, policy: SandboxPolicy, env: Mapping[str, str], hosts: Mapping[str, str]
    ) -> Container:
        """Make and start a container.

        `env`: variables that blocks see beside those of every sandbox. `hosts`: addresses by name, for a container with
        a network. Raises `SandboxError`, `ImageMissingError`, and `ConfigurationError` for a limit or runtime that the
        engine refuses.
        """
        engine = await Engine.find()
        creating = asyncio.ensure_future(_create(engine, name, policy, hosts))
        try:
            identifier = await asyncio.shield(creating)
        except asyncio.CancelledError:
            # The engine makes it all the same, and it would stay: it removes by itself only what has been started.
            await asyncio.shield(_take_back(engine, creating))
            raise
        try:
            channel = Channel(*await engine.attach(identifier))
            container = cls(engine, identifier, channel)
            try:
                await engine.request("POST", f"/containers/{identifier}/start")
                channel.hello(_config(policy, env))
                await container._check(policy)
            except BaseException:
                channel.close()
                raise
        except BaseException as error:
            # Shielded: a cancel must not leave the container behind either.
            await asyncio.shield(_remove(engine, identifier))
            if isinstance(error, EngineError):
                raise _refused(error, policy) from error
            raise
        return container

    async def _check(self, policy: SandboxPolicy) -> None:
        try:
            kind, facts, _ = await asyncio.wait_for(self.channel.receive(), policy.start_timeout_s)
        except asyncio.TimeoutError:
            raise SandboxError(
                f"The sandbox did not answer within {policy.start_timeout_s} s.", "Raise start_timeout_s, or try again."
            ) from None
        broken = broken_promises(facts, policy) if kind == frames.READY else ["it did not report itself"]
        if broken:
            raise SandboxError(
                f"The sandbox is not what {policy.file} promises: {'; '.join(broken)}.",
                f"Nothing was run in it. Look at the Docker engine's settings and at `runtime` in {policy.file}.",
            )
        commands = set(facts["commands"])
        self.languages = tuple(language.name for language in TABLE if language.command in commands)
        libc = re.fullmatch(r"glibc 2\.([0-9]{1,3})", facts.get("libc", ""))
        self.target = Target(facts["python"], facts["machine"], int(libc[1]) if libc else 0)

    async def install(self, wheels: Sequence[Path], policy: SandboxPolicy) -> None:
        """Install wheels for all blocks from now on; memory grows by what packages may take.

        Only between blocks. Raises `NotInstalledError` and `SandboxError`; after a cancel it cannot be used again.
        """
        if not is_gvisor(policy):  # which cannot be given more later, and has it from its start
            bytes_ = _with_packages(policy)
            try:
                await self._engine.request(
                    "POST", f"/containers/{self.identifier}/update", {"Memory": bytes_, "MemorySwap": bytes_}
                )
            except EngineError as error:
                raise SandboxError(f"The sandbox could not be given room for packages: {error.message}.") from error
        installer = policy.user_id + 1
        try:
            await asyncio.wait_for(
                hand_in(self._engine, self.identifier, installer, PATH, wheels), policy.packages.install_timeout_s
            )
        except asyncio.TimeoutError:
            raise SandboxError(
                f"Packages were not installed within {policy.packages.install_timeout_s} s.",
                f"Raise packages: install_timeout_s in {policy.file}.",
            ) from None
        self.channel.send(frames.ENV, {"PYTHONPATH": f"{PACKAGES}/start", "PATH": f"{PATH}:{PACKAGES}/tree/bin"})
        self.warm = False

    async def until_warm(self) -> None:
        """Wait until the warm process is ready. Only between blocks. Raises `SandboxError`."""
        while not self.warm:
            kind, fields, _ = await self.channel.receive()
            if kind == frames.FAULT:
                raise SandboxError(f"The sandbox failed: {fields['message']}.")
            self.warm = kind == frames.IDLE

    async def remove(self) -> None:
        """Kill and remove it; nothing where it is gone."""
        # The engine ends no container whose output it cannot get rid of.
        discarding = asyncio.create_task(self.channel.discard())
        try:
            await _remove(self._engine, self.identifier)
        finally:
            discarding.cancel()
            self.channel.close()


async def _take_back(engine: Engine, creating: asyncio.Future[str]) -> None:
    with contextlib.suppress(RoundtableError):
        await _remove(engine, await creating)


async def _create(engine: Engine, name: str, policy: SandboxPolicy, hosts: Mapping[str, str]) -> str:
    image = policy.image or image_name(policy.variant)
    try:
        return await _create_named(engine, name, _specification(image, policy, hosts))
    except EngineError as error:
        if error.status == 404 and "image" in error.message.lower():
            ours = "make image" if policy.variant == "default" else "make image-full"
            make = f"docker pull {image}" if policy.image else ours
            raise ImageMissingError(f"The sandbox image {image} is not there.", f"Get it with `{make}`.") from error
        raise _refused(error, policy) from error


async def _create_named(engine: Engine, name: str, body: dict[str, Any]) -> str:
    try:
        answer = await engine.request("POST", f"/containers/create?name={name}", body)
    except EngineError as error:
        if error.status != 409:
            raise
        # As AutoGen's does, a name is taken over; but only from a container of ours.
        with contextlib.suppress(EngineError):  # it has gone meanwhile
            other = await engine.request("GET", f"/containers/{name}/json")
            if OWNER_LABEL not in (other["Config"].get("Labels") or {}):
                raise ConfigurationError(
                    f"Another container is named {name}.", "Remove it, or choose another container_name."
                ) from error
            await _remove(engine, other["Id"])
        answer = await engine.request("POST", f"/containers/create?name={name}", body)
    return str(answer["Id"])


async def _remove(engine: Engine, identifier: str) -> None:
    # 404: gone. No engine: nothing that could be removed.
    with contextlib.suppress(EngineError, SandboxError):
        try:
            await engine.request("DELETE", f"/containers/{identifier}?force=1&v=1")
        except EngineError as error:
            if error.status == 409:  # going already, by itself
                await engine.request("POST", f"/containers/{identifier}/wait?condition=removed")


def _refused(error: EngineError, policy: SandboxPolicy) -> ConfigurationError | SandboxError:
    message = error.message.rstrip(".")
    # "Unknown runtime specified", in newer ones "unknown or invalid runtime name".
    if policy.runtime and "unknown" in message.lower() and "runtime" in message.lower():
        return ConfigurationError(
            f"Docker does not know the runtime {policy.runtime} of {policy.file}.",
            "Register it with the engine, or remove the line.",
        )
    if error.status == 400:
        return ConfigurationError(f"Docker refused the sandbox: {message}.", f"Change that limit in {policy.file}.")
    return SandboxError(f"Docker could not start the sandbox: {message}.")


def _with_packages(policy: SandboxPolicy) -> int:
    return (policy.memory_mib + policy.packages.size_mib) * MIB


def _specification(image: str, policy: SandboxPolicy, hosts: Mapping[str, str]) -> dict[str, Any]:
    user = policy.user_id
    memory = _with_packages(policy) if is_gvisor(policy) else policy.memory_mib * MIB
    mount = "rw,nosuid,nodev,exec,mode=0755,uid={0},gid={0},size={1},nr_inodes={2}"
    host: dict[str, Any] = {
        "AutoRemove": True,
        "NetworkMode": "bridge" if policy.network == "full" else "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
        "Privileged": False,
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int(policy.cpus * 1e9),
        "PidsLimit": processes(policy),
        "IpcMode": "none",
        "LogConfig": {"Type": "none"},
        "Init": False,
        "Tmpfs": {path: mount.format(user, *limits) for path, limits in places(policy).items()},
        "Ulimits": [
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "nofile", "Soft": policy.open_files, "Hard": policy.open_files},
        ],
    }
    if policy.packages.size_mib:
        size, inodes = policy.packages.size_mib * MIB, policy.packages.inodes
        host["Tmpfs"][PACKAGES] = mount.format(user + 1, size, inodes)
    if policy.runtime:
        host["Runtime"] = policy.runtime
    if policy.network == "full":
        host["ExtraHosts"] = [f"{name}:{address}" for name, address in hosts.items()]
    return {
        "Image": image,
        "Entrypoint": ["python3"],
        # -S: nothing but the standard library, which is there a little sooner.
        "Cmd": ["-I", "-S", *bundle.arguments()],
        "User": f"{user}:{user}",
        "WorkingDir": WORKSPACE,
        "Hostname": "sandbox",
        "Env": [f"PATH={PATH}"],
        "Labels": {OWNER_LABEL: owner_label_value()},
        "OpenStdin": True,
        # The end of our connection is the end of its input, and the supervisor ends with it.
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "HostConfig": host,
    }


def _config(policy: SandboxPolicy, env: Mapping[str, str]) -> dict[str, Any]:
    """What the supervisor is told at its start."""
    # A variable such as PYTHONPATH would let the warm process import what a block has left.
    warm = policy.warm and not any(name.startswith("PYTHON") for name in env)
    half = policy.output_kib * 1024 // 2
    return {
        "workspace": WORKSPACE,
        "writable": list(places(policy)),
        "wiped": [HOME, "/tmp", "/dev/shm"],
        "home_skeleton": HOME_SKELETON,
        "commands": sorted({language.command for language in TABLE}),
        "env": {
            "PATH": PATH,
            "HOME": HOME,
            "USER": "sandbox",
            "LOGNAME": "sandbox",
            # Not LANG: what else C.UTF-8 has is as in C, and a shell reads a dozen files for it at its start.
            "LC_CTYPE": "C.UTF-8",
            # Or bash looks for it in the list of users.
            "SHELL": "/bin/bash",
            "TERM": "dumb",
            "MPLBACKEND": "Agg",
            # Output must come as it is printed, and no cache files into the workspace.
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **({} if policy.network == "full" else _OFFLINE),
            **env,
        },
        "file_size_bytes": policy.file_size_mib * MIB,
        "open_files": policy.open_files,
        "own_processes": policy.pids if is_gvisor(policy) else 0,
        "gvisor": is_gvisor(policy),
        "warm": list(policy.warm_imports) if warm else [],
        "warm_source": bundle.warm_source() if warm else "",
        "kernel_source": bundle.kernel_source() if policy.kernel else "",
        "kernel_imports": list(policy.warm_imports),
        "start_timeout_s": policy.start_timeout_s,
        "head_bytes": half,
        "tail_bytes": half,
        "file_out_bytes": policy.file_out_mib * MIB,
        "files_out_bytes": policy.files_out_mib * MIB,
        "files_out": policy.files_out,
    }
