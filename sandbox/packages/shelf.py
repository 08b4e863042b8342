"""The packages of one sandbox beyond the image's: what is there, what is wanted, what is handed in."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.version import InvalidVersion

from sandbox.packages.names import normalised, requirement
from sandbox.packages.wheels import Request, Target, fetch
from sandbox.policy import MIB, SandboxPolicy


class Shelf:
    """What was granted lives as long as the sandbox, through every container of it.

    `image`: versions of the image's packages by name. `environ` holds pip's configuration.
    """

    def __init__(
        self, policy: SandboxPolicy, image: Mapping[str, str], environ: Mapping[str, str], cache: Path
    ) -> None:
        self._policy = policy.packages
        self._image = {normalised(name): version for name, version in image.items()}
        self._environ = environ
        self._cache = cache
        self._granted: dict[str, tuple[str, Path]] = {}

    @property
    def wheels(self) -> tuple[Path, ...]:
        """All wheels that were granted, to be handed into a fresh container."""
        return tuple(path for _, path in self._granted.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the packages that were granted."""
        return tuple(self._granted)

    def lacks(self, requirements: Sequence[str]) -> tuple[str, ...]:
        """Those that neither the image nor what was granted meets."""
        return lacking(requirements, {**self._image, **{name: version for name, (version, _) in self._granted.items()}})

    async def fetch(self, requirements: Sequence[str], target: Target) -> dict[str, tuple[str, Path]]:
        """Fetch what is wanted and what that needs: name -> (version, wheel). Raises `NotFetchedError`."""
        asked = {normalised(parsed.name) for text in requirements if (parsed := requirement(text)) is not None}
        there = {**self._image, **{name: version for name, (version, _) in self._granted.items()}}
        request = Request(
            requirements=tuple(requirements),
            target=target,
            constraints={name: version for name, version in there.items() if name not in asked},
            size_bytes=self._policy.size_mib * MIB,
            timeout_s=self._policy.fetch_timeout_s,
        )
        return await fetch(request, cache=self._cache, environ=self._environ)

    def keep(self, wheels: Mapping[str, tuple[str, Path]]) -> None:
        """Count wheels as granted and installed."""
        self._granted.update(wheels)


def lacking(requirements: Sequence[str], there: Mapping[str, str]) -> tuple[str, ...]:
    """Requirements that no version that is there meets; names are normalised ones."""
    return tuple(text for text in requirements if not _met(text, there))


def _met(text: str, there: Mapping[str, str]) -> bool:
    parsed = requirement(text)
    if parsed is None or parsed.extras or normalised(parsed.name) not in there:
        return False
    with contextlib.suppress(InvalidVersion):
        return parsed.specifier.contains(there[normalised(parsed.name)], prereleases=True)
    return False
