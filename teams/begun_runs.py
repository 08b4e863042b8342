"""Runs that began since the state that was saved last, which therefore knows nothing of them."""

from __future__ import annotations

from typing import Any

from agents.task_state import TaskState
from sessions.store import Approval, Store


def task_state(state: dict[str, Any]) -> dict[str, Any]:
    """The task's part of a team's state."""
    task: dict[str, Any] = state["agent_states"]["code_executor"]["agent_state"]["task"]
    return task


def ask_again(store: Store, session: str, state: dict[str, Any] | None) -> tuple[Approval, ...]:
    """Note in the state that what began to run since it was saved runs again by a human's approval alone.

    Returns those runs. Where a human had edited the block, the bytes before the edit stand at its place again: they
    need a human too. Raises `StoreError`.
    """
    saved = store.load_turn(session)
    if saved is None or state is None:
        return ()
    _, covered = saved
    begun = [run for run in store.approvals(session) if run.taken_seq is not None and run.taken_seq >= covered]
    runs = {(run.message, run.index, run.digest): run for run in begun}
    places = {(run.message, run.index) for run in begun}
    task = task_state(state)
    proposal = TaskState.model_validate(task).proposal
    blocks = () if proposal is None else proposal.to_run
    at_place = [b.digest for b in blocks if proposal is not None and (proposal.message, b.index) in places]
    digests = (*task["ask_again"], *(run.digest for run in runs.values()), *at_place)
    task["ask_again"] = list(dict.fromkeys(digests))
    return tuple(runs.values())
