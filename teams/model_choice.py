"""Which model answers for which agent, and what all of them have used so far."""

from __future__ import annotations

from collections.abc import Callable

from sessions.events import Usage
from sessions.progress import Progress, Waiting
from utils.errors import ConfigurationError
from utils.model_client import ModelClient
from utils.model_profiles import Profile
from utils.models import Models, create_client
from utils.settings import Settings

GENERATOR = "code_generator"

Choice = tuple[str, dict[str, str], bool]
"""Everybody's model, those of single agents, and whether the fallback has taken over."""


class TeamModels:
    """The clients of one conversation's agents, made when they are first needed and kept while their profile is."""

    def __init__(self, models: Models, settings: Settings, on_progress: Callable[[Progress], None]) -> None:
        self._models = models
        self._agents = settings.agent_models
        self._fallback = settings.fallback
        self._on_progress = on_progress
        self._chosen = settings.model
        self._fell_back = False
        self._clients: dict[str, tuple[Profile, ModelClient]] = {}
        self._retired: list[tuple[Profile, ModelClient]] = []
        if self._fallback:
            models.resolve(self._fallback)
        for agent in settings.agent_models:
            self.profile(agent)
        self.profile("")

    def profile(self, agent: str) -> Profile:
        """Return the profile that answers for an agent. Raises `ConfigurationError`."""
        if self._fell_back:
            return self._models.resolve(self._fallback)
        return self._models.for_agent(agent, own=self._agents.get(agent, ""), chosen=self._chosen)

    def client(self, agent: str) -> ModelClient:
        """Return the agent's client. Raises `ConfigurationError`."""
        profile = self.profile(agent)
        kept = self._clients.get(agent)
        if kept is not None and kept[0] == profile:
            return kept[1]
        if kept is not None:
            self._retired.append(kept)

        def on_wait(reason: str, attempt: int, attempts: int, delay_s: float) -> None:
            self._on_progress(Waiting(agent, reason, attempt, attempts, delay_s))

        client = create_client(profile, source=agent, on_wait=on_wait)
        self._clients[agent] = (profile, client)
        return client

    @property
    def label(self) -> str:
        """Profile and model of the code generator, for people."""
        return self.profile(GENERATOR).label

    @property
    def usage(self) -> Usage:
        """All calls so far, those of models that were swapped out included."""
        total = Usage()
        for _, client in self._all():
            used = client.usage
            total += Usage(prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens, calls=used.calls)
        return total

    @property
    def cost(self) -> float:
        """What the calls cost by the prices of models.yaml; 0 where there are none."""
        return sum(
            profile.cost(client.usage.prompt_tokens, client.usage.completion_tokens) for profile, client in self._all()
        )

    def choose(self, name: str) -> str:
        """Let a profile or model answer from the next turn on. Returns its label.

        Raises `ConfigurationError` where there is none of that name or no client can be made for it; then all stays.
        """
        before = self.choice
        self.choice = (name, {}, False)
        try:
            self.client(GENERATOR)
        except ConfigurationError:
            self.choice = before
            raise
        return self.label

    @property
    def choice(self) -> Choice:
        """What was chosen, to be given back after another choice."""
        return self._chosen, self._agents, self._fell_back

    @choice.setter
    def choice(self, choice: Choice) -> None:
        self._chosen, self._agents, self._fell_back = choice

    def fall_back(self) -> str:
        """Let the fallback profile take over; its label, or empty when there is none or it already answers."""
        if not self._fallback or self._fell_back:
            return ""
        self._fell_back = True
        return self.label

    async def close(self) -> None:
        """Close the connections."""
        for _, client in self._all():
            await client.close()

    def _all(self) -> list[tuple[Profile, ModelClient]]:
        return [*self._retired, *self._clients.values()]
