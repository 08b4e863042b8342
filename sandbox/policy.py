"""What a sandbox permits: sandbox.yaml, read and checked."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from utils.settings import file_name
from utils.yaml_settings import read_settings

MIB = 1 << 20


class PackagePolicy(BaseModel):
    """Which Python packages a block may get that the image lacks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow: tuple[str, ...] = ()
    """Names that are granted without a question."""
    forbid: tuple[str, ...] = ()
    """Modules that no block may import: a rule denies it."""
    size_mib: int = Field(default=512, ge=0, le=1 << 20)
    """Size of all packages that are granted, MiB; 0-1048576. The memory of the container grows by it with the first
    one; 0: none can be granted."""
    inodes: int = Field(default=65_536, ge=64, le=10_000_000)
    """Files and directories of all packages that are granted; 64-10000000."""
    fetch_timeout_s: int = Field(default=300, ge=1, le=7200)
    """How long the fetching of the wheels of one grant may take, seconds; 1-7200."""
    install_timeout_s: int = Field(default=120, ge=1, le=3600)
    """How long their installation in the sandbox may take, seconds; 1-3600."""

    @field_validator("allow")
    @classmethod
    def _packages(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", name):
                raise ValueError(f"{name!r} is not the name of a package (names only, without versions)")
        return names

    @field_validator("forbid")
    @classmethod
    def _modules(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ValueError(f"{name!r} is not the name of a module")
        return names


class SandboxPolicy(BaseModel):
    """Limits, network, runtime and image of a sandbox. Raises pydantic's `ValidationError` for what does not fit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: str = ""
    """Name of the image; empty: the one that this program builds."""
    variant: Literal["default", "full"] = "default"
    """Which of the program's images: `full` has all fifteen languages."""
    runtime: str = ""
    """Container runtime as the engine names it, such as `runsc` for gVisor; empty: the engine's default."""
    network: Literal["none", "ask", "full"] = "none"
    """`none`: no block ever has one; `ask`: for single blocks, when the human grants it; `full`: always."""
    warm: bool = False
    """Keep one Python process ready that has imported the usual packages; it becomes the next Python block."""
    warm_imports: tuple[str, ...] = ("numpy", "pandas", "matplotlib.pyplot")
    """Modules that the warm process has imported; those that the image lacks are passed over."""
    kernel: bool = False
    """Python blocks share one IPython kernel, so that variables live on."""
    timeout_s: int = Field(default=60, ge=1, le=86_400)
    """Wall clock a block, seconds; 1-86400."""
    compile_timeout_s: int = Field(default=60, ge=1, le=3600)
    """Wall clock of a block's compiler, seconds; 1-3600."""
    start_timeout_s: int = Field(default=30, ge=1, le=600)
    """Wall clock until a new container must have answered, seconds; 1-600."""
    memory_mib: int = Field(default=1024, ge=64, le=1 << 20)
    """Memory of the container, its files included, MiB; 64-1048576. There is no swap beyond it."""
    reserve_mib: int = Field(default=256, ge=32, le=1 << 20)
    """Part of the memory that the files of the four writable places can never fill, MiB; 32-1048576."""
    cpus: float = Field(default=1.0, ge=0.05, le=512)
    """Processors' worth of time; 0.05-512, and no more than the machine has."""
    pids: int = Field(default=256, ge=16, le=65_536)
    """Processes and threads at once; 16-65536."""
    workspace_mib: int = Field(default=320, ge=1, le=1 << 20)
    """Size of /workspace, MiB; 1-1048576."""
    workspace_inodes: int = Field(default=32_768, ge=64, le=10_000_000)
    """Files and directories in /workspace; 64-10000000."""
    tmp_mib: int = Field(default=256, ge=1, le=1 << 20)
    """Size of /tmp, MiB; 1-1048576."""
    tmp_inodes: int = Field(default=16_384, ge=64, le=10_000_000)
    """Files and directories in /tmp; 64-10000000."""
    home_mib: int = Field(default=64, ge=1, le=1 << 20)
    """Size of the home directory, MiB; 1-1048576."""
    home_inodes: int = Field(default=8192, ge=64, le=10_000_000)
    """Files and directories in the home directory; 64-10000000."""
    shm_mib: int = Field(default=64, ge=1, le=1 << 20)
    """Size of /dev/shm, MiB; 1-1048576."""
    shm_inodes: int = Field(default=4096, ge=64, le=10_000_000)
    """Files in /dev/shm; 64-10000000."""
    file_size_mib: int = Field(default=256, ge=1, le=1 << 20)
    """Size of one file that a block writes, MiB; 1-1048576."""
    open_files: int = Field(default=1024, ge=64, le=1_048_576)
    """File descriptors of one process; 64-1048576."""
    output_kib: int = Field(default=512, ge=4, le=65_536)
    """Output kept of a block, KiB, half of it from the beginning and half from the end; 4-65536."""
    files_in_mib: int = Field(default=256, ge=0, le=1 << 20)
    """Size of all files that are copied into the workspace, MiB; 0-1048576."""
    files_in: int = Field(default=4096, ge=0, le=1_000_000)
    """Number of files that are copied into the workspace; 0-1000000."""
    file_out_mib: int = Field(default=64, ge=0, le=1 << 20)
    """Size of one file that comes back from a block, MiB; 0-1048576."""
    files_out_mib: int = Field(default=256, ge=0, le=1 << 20)
    """Size of all files that come back from one block, MiB; 0-1048576."""
    files_out: int = Field(default=1024, ge=0, le=1_000_000)
    """Number of files that come back from one block; 0-1000000."""
    user_id: int = Field(default=1000, ge=1, le=2_147_483_647)
    """User and group that blocks run as, never 0; 1-2147483647."""
    env: tuple[str, ...] = ()
    """Names of variables of the program's own environment that a block may see."""
    packages: PackagePolicy = PackagePolicy()
    """Python packages beyond the image's."""
    _file: str = "sandbox.yaml"

    @property
    def file(self) -> str:
        """Where it was read, for errors that say what to change there."""
        return self._file

    def changed(self, **values: object) -> SandboxPolicy:
        """The policy with other values, from the same file. Raises pydantic's `ValidationError`."""
        policy = SandboxPolicy.model_validate(self.model_dump() | values)
        policy._file = self._file
        return policy

    @field_validator("env")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not name.isascii() or not name.isidentifier():
                raise ValueError(f"{name!r} is not the name of a variable (names only, values stay in the environment)")
        return names

    @model_validator(mode="after")
    def _fits(self) -> SandboxPolicy:
        files = self.workspace_mib + self.tmp_mib + self.home_mib + self.shm_mib
        if files + self.reserve_mib > self.memory_mib:
            raise ValueError(
                f"workspace_mib + tmp_mib + home_mib + shm_mib + reserve_mib = {files + self.reserve_mib} MiB, "
                f"but memory_mib is {self.memory_mib}: files live in memory, so raise it or lower those"
            )
        if self.kernel and self.warm:
            raise ValueError("kernel and warm exclude each other: a kernel is warm by itself")
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal of all that is permitted: an approval is bound to it."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def load_policy(path: Path) -> SandboxPolicy:
    """Read sandbox.yaml. Raises `ConfigurationError` that names file, line and key."""
    policy = read_settings(path, SandboxPolicy)
    policy._file = file_name(path)
    return policy
