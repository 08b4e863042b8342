"""Building the parts from the settings, in one place, for every interface."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from agents.code_review import CodeReview
from agents.desk import Desk
from agents.parts import Parts
from agents.task_state import TaskState
from safety.gate import Gate
from sandbox.base import Sandbox
from sandbox.choice import is_local, open_sandbox, refuse_unless_known, with_kernel
from sandbox.policy import load_policy
from sessions.questions import Ask
from sessions.store import Store
from teams.conversation import Conversation
from teams.model_choice import TeamModels
from teams.wiring import Listener, Wiring
from utils.errors import ConfigurationError
from utils.models import Models
from utils.prompts import is_edited, load_prompt
from utils.settings import Settings

REVIEWER = "safety_reviewer"


def assemble(
    settings: Settings,
    *,
    listener: Listener,
    ask: Ask | None,
    store: Store,
    session: str | None = None,
    sandbox: Sandbox | None = None,
) -> Conversation:
    """Build a conversation: a new session, or the one given, which `store` then holds.

    `ask` is None where no human is there. `sandbox` takes the place of the Docker sandbox of sandbox.yaml. Raises
    `ConfigurationError` for a setting, file or prompt that cannot be used, and `StoreError`.
    """
    # An agent's failure reaches the user as an event; AutoGen would also log it to the terminal, with a traceback.
    for name in ("autogen_core", "autogen_agentchat"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    models = Models.load(settings.models_file, settings.environ)
    _check_agents(models, settings)
    choice = TeamModels(models, settings, listener.on_progress)
    policy = load_policy(settings.sandbox_file)
    if settings.kernel:
        policy = with_kernel(policy)
    if sandbox is None and is_local(policy):
        refuse_unless_known(policy, settings.i_know)
    opened = store.create(model=choice.label) if session is None else store.open(session)
    work_dir = settings.work_dir or settings.data_dir / "work" / opened
    box = sandbox or open_sandbox(policy, work_dir=work_dir, environ=settings.environ, i_know=settings.i_know)
    store.set_work_dir(opened, str(work_dir))
    prompt = partial(_reader, settings, box)
    for name in ("code_generator", REVIEWER):
        prompt(name)()

    def make_parts(conversation: Conversation) -> Parts:
        client = choice.client
        return Parts(
            desk=Desk(
                emit=conversation.emit,
                progress=listener.on_progress,
                ask=conversation.ask,
                ask_policy=conversation.ask_policy,
            ),
            state=TaskState(),
            gate=Gate(box.info.policy, store.approval_log(opened)),
            sandbox=box,
            review=CodeReview(
                client(REVIEWER),
                prompt(REVIEWER),
                network=box.info.network != "none",
                forbid=policy.packages.forbid,
            ),
            client=client,
            prompt=prompt,
            retries=settings.retries,
            packages_allowed=policy.packages.allow,
        )

    return Conversation(
        Wiring(
            settings=settings,
            session=opened,
            store=store,
            listener=listener,
            ask=ask,
            sandbox=box,
            models=choice,
            make_parts=make_parts,
            edited_prompts=lambda: tuple(
                path.stem for path in sorted(settings.prompts_dir.glob("*.md")) if is_edited(path)
            ),
            files=settings.files,
        )
    )


def _check_agents(models: Models, settings: Settings) -> None:
    """Refuse a model for an agent that there is not. An agent that has a model has a prompt of its name."""
    names = sorted(path.stem for path in settings.prompts_dir.glob("*.md"))
    unknown = [agent for agent in models.agents if agent not in names]
    if names and unknown:
        raise ConfigurationError(
            f"{settings.models_file}: agents: there is no agent '{unknown[0]}' that has a model.",
            f"There are: {', '.join(names)}.",
        )


def _reader(settings: Settings, sandbox: Sandbox, agent: str) -> Callable[[], str]:
    """Return a reader of an agent's prompt, which reads the file anew each time it is called."""
    path = settings.prompts_dir / f"{agent}.md"
    return lambda: load_prompt(path, variables(sandbox))


def variables(sandbox: Sandbox) -> dict[str, str]:
    """Return the variables that a prompt may use, with their values as of now."""
    info = sandbox.info
    return {
        "languages": ", ".join(info.languages),
        "packages": ", ".join(info.packages),
        "network": {"none": "none", "ask": "none, unless the user grants it for a block"}.get(info.network, "open"),
        "timeout": f"{info.timeout_s} s",
        "limits": "; ".join(f"{name}: {value}" for name, value in info.limits.items()),
        "state": (
            "Python blocks share one IPython kernel: variables stay from block to block, the value of a block's last "
            "line is shown, open plots come back as PNG files."
            if info.state
            else "Each block is a fresh process: variables do not stay from block to block, files do."
        ),
    }
