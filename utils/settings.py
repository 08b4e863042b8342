"""Everything that can be set for one run of the program, checked in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ROOT = Path(__file__).resolve().parent.parent
"""Directory of the program: where models.yaml, sandbox.yaml and prompts/ lie."""


def file_name(path: Path) -> str:
    """How people know a file of settings: by its name where it lies beside the program, else by its whole path."""
    return path.name if path.parent == ROOT else str(path)


AskPolicy = Literal["always", "risky", "never"]


class Settings(BaseModel):
    """One run's settings. Made by an interface from its arguments; nothing below the interfaces reads the environment.

    Raises pydantic's `ValidationError` for unknown names and values out of range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = ""
    """Profile of models.yaml or bare model name; empty: the default profile."""
    agent_models: dict[str, str] = {}
    """Profile or model name for single agents, by the agent's name."""
    fallback: str = ""
    """Profile that takes over when the model fails for good; empty: none."""
    ask: AskPolicy = "risky"
    """When the human is asked: every run and result, risky code only, or never."""
    retries: int = Field(default=3, ge=0, le=20)
    """Failed runs and denials in a row that the generator may try to mend; 0-20."""
    max_turns: int = Field(default=40, ge=1, le=100_000)
    """Turns of agents a task may take, four to a round; 1-100000."""
    max_tokens: int = Field(default=0, ge=0)
    """Tokens (prompt and completion) a session may use; 0: no limit."""
    max_cost: float = Field(default=0.0, ge=0.0)
    """Money a session may cost, in the currency of models.yaml's prices; 0: no limit."""
    work_dir: Path | None = None
    """The user's own work directory; none: a fresh folder for the session."""
    files: tuple[Path, ...] = ()
    """Files and directories to copy into the workspace."""
    kernel: bool = False
    """Python blocks share one IPython kernel, whatever sandbox.yaml says."""
    i_know: bool = False
    """The user knows that the sandbox is none, where sandbox.yaml says `runtime: local` or `local-kernel`."""
    data_dir: Path
    """Where sessions and work directories are kept."""
    store_mb: int = Field(default=4096, ge=1, le=1_000_000)
    """Largest size of the session database, MiB; 1-1000000."""
    kept_file_mb: int = Field(default=32, ge=0, le=1024)
    """Largest file of a workspace that is kept with its session, MiB; 0-1024."""
    kept_files_mb: int = Field(default=256, ge=0, le=100_000)
    """All files of a workspace that are kept with its session, MiB; 0-100000."""
    models_file: Path = ROOT / "models.yaml"
    sandbox_file: Path = ROOT / "sandbox.yaml"
    prompts_dir: Path = ROOT / "prompts"
    environ: dict[str, str] = Field(default={}, repr=False)
    """The environment with .env read over it: keys and endpoints. Never shown."""
