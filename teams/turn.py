"""One agent's turn: the team runs until that agent has spoken, and its messages become events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from autogen_agentchat.messages import BaseChatMessage, ModelClientStreamingChunkEvent, TextMessage, ThoughtEvent
from autogen_core import CancellationToken

from agents.messages import kind_of
from agents.parts import Parts
from sessions.events import BlockInfo, MessageEvent, Usage
from sessions.progress import Delta, Step
from teams.software_development_team import SoftwareDevelopmentTeam
from utils.errors import RoundtableError
from utils.thinking import Kind, ThinkSplitter

MANAGER = "RoundRobinGroupChatManager"


class TurnCancelledError(Exception):
    """The turn was cancelled by its token."""


class TurnRunner:
    """Runs turns on a team that is built anew after every turn that did not end well.

    A team that failed or was cancelled is spoilt: its next speaker has already advanced. What counts is the state saved
    after the last good turn.
    """

    def __init__(self, make_parts: Callable[[], Parts]) -> None:
        self._make_parts = make_parts
        self._team: SoftwareDevelopmentTeam | None = None
        self._parts: Parts | None = None
        self._spoilt = False
        self.state: dict[str, Any] | None = None
        """The team's state after the last good turn."""
        self._token: CancellationToken | None = None

    @property
    def parts(self) -> Parts:
        """The parts of the team that runs next."""
        if self._parts is None:
            self._parts = self._make_parts()
        return self._parts

    def discard(self) -> None:
        """Let the next turn build a new team and load the saved state; a turn that runs ends with the team it has."""
        self._spoilt = True

    def cancel(self) -> None:
        """Stop the turn that runs, if one does."""
        if self._token is not None:
            self._token.cancel()

    def first_speaker_next(self) -> None:
        """Give the next turn to the first member, whoever would have been next."""
        if self.state is not None:
            self._team = None
            self.state["agent_states"][MANAGER]["next_speaker_index"] = 0

    @property
    def round_begins(self) -> bool:
        """Whether the next turn is the first member's."""
        return self.state is None or self.state["agent_states"][MANAGER]["next_speaker_index"] == 0

    async def ready(self) -> SoftwareDevelopmentTeam:
        """Return the team, built from the saved state where there is none."""
        if self._spoilt:
            self._team, self._parts, self._spoilt = None, None, False
        if self._team is None:
            team = SoftwareDevelopmentTeam(self.parts)
            if self.state is not None:
                await team.load_state(self.state)
            else:
                self.state = dict(await team.save_state())
            self._team = team
        return self._team

    async def run(self, task: str | None) -> None:
        """Run one turn and save the team's state in `state`.

        Raises `TurnCancelledError`, or what the agent raised. The team is discarded then.
        """
        self._token = token = CancellationToken()
        try:
            team = await self.ready()
            if task is not None:
                self.parts.state.begin(task)
            await self._stream(team, task, token)
            self.state = dict(await team.save_state())
        except asyncio.CancelledError:
            self.discard()
            if token.is_cancelled():
                raise TurnCancelledError from None
            token.cancel()
            raise
        except Exception as error:
            failure = self.parts.desk.failure
            self.discard()
            if token.is_cancelled():
                raise TurnCancelledError from None
            raise _told(failure or error) from error
        finally:
            self._token = None

    async def _stream(self, team: SoftwareDevelopmentTeam, task: str | None, token: CancellationToken) -> None:
        listener = _TurnListener(self.parts)
        stream = team.run_stream(task=task, cancellation_token=token, output_task_messages=False)
        async for item in stream:
            listener.take(item)


class _TurnListener:
    """Turns what AutoGen streams into events and progress."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._started = time.monotonic()
        self._thought = ""
        self._splitter: ThinkSplitter | None = None

    def take(self, item: object) -> None:
        if isinstance(item, ModelClientStreamingChunkEvent):
            self._chunk(item)
        elif isinstance(item, ThoughtEvent):
            self._thought = item.content
        elif isinstance(item, BaseChatMessage):
            self._message(item)

    def _chunk(self, chunk: ModelClientStreamingChunkEvent) -> None:
        if self._splitter is None:
            self._splitter = ThinkSplitter()
        self._deltas(chunk.source, self._splitter.feed(chunk.content))

    def _deltas(self, source: str, pieces: list[tuple[Kind, str]]) -> None:
        for kind, text in pieces:
            self._parts.desk.progress(Delta(source, text, thought=kind == "thought"))

    def _message(self, message: BaseChatMessage) -> None:
        if self._splitter is not None:
            self._deltas(message.source, self._splitter.finish())
        proposal = self._parts.state.proposal
        own = proposal if proposal is not None and proposal.message == message.id else None
        usage = message.models_usage
        duration = time.monotonic() - self._started
        if own is not None:
            self._parts.desk.progress(Step(message.source, "generating", "ended", duration_s=duration))
        self._parts.desk.emit(
            MessageEvent(
                source=message.source,
                id=message.id,
                text=message.content if isinstance(message, TextMessage) else message.to_model_text(),
                thought=self._thought,
                kind=kind_of(message),
                blocks=tuple(
                    BlockInfo(index=b.index, language=b.language, digest=b.digest, code=b.code, line=b.line)
                    for b in (own.to_run if own is not None else ())
                ),
                unsupported=own.unsupported if own is not None else (),
                unterminated=own.unterminated if own is not None else False,
                cut=own.cut if own is not None else "",
                model=self._parts.client(message.source).profile.label if own is not None else "",
                duration_s=round(duration, 3),
                usage=Usage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens, calls=1)
                if usage is not None
                else Usage(),
            )
        )


def _told(error: Exception) -> Exception:
    """Make an error that can be told of any exception: not the model's, so that no other model tries the turn anew.

    A broken assertion stays what it is: a fault of the program, not of its surroundings.
    """
    if isinstance(error, RoundtableError | AssertionError):
        return error
    line = str(error).strip().splitlines()[0] if str(error).strip() else "no reason given"
    return RoundtableError(f"An agent failed ({type(error).__name__}): {line}")
