"""`python main.py doctor`: is all in place? Each line is ok, or says what to do."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from rich.console import Console
from rich.text import Text

from interfaces.terminal import checks
from interfaces.terminal.checks import Finding
from utils.errors import RoundtableError
from utils.settings import Settings

_NAME_WIDTH = 12


async def doctor(settings: Settings, *, ping: bool, attack: bool) -> int:
    """Print the findings as they come. Returns 0 where all is well, else 1.

    With `attack` only what the sandbox needs is looked at, so that the status tells whether it holds.
    """
    console = Console(highlight=False, soft_wrap=True)
    all_ok = True
    findings = _sandbox(settings) if attack and not ping else _findings(settings, ping=ping)
    async for finding in findings:
        _print(console, finding)
        all_ok &= finding.ok
    if attack:
        all_ok &= await _attack(console, settings)
    return 0 if all_ok else 1


async def _findings(settings: Settings, *, ping: bool) -> AsyncIterator[Finding]:
    yield checks.check_python()
    yield checks.check_packages()
    async for finding in _sandbox(settings):
        yield finding
    async for finding in checks.check_model(settings, ping=ping):
        yield finding
    yield checks.check_prompts(settings)
    yield checks.check_data_dir(settings)
    yield checks.check_disk(settings)


async def _sandbox(settings: Settings) -> AsyncIterator[Finding]:
    """Look at the engine and what needs it, as far as it goes."""
    from sandbox.policy import load_policy

    engine = checks.check_engine()
    yield engine
    try:
        policy = load_policy(settings.sandbox_file)
    except RoundtableError as error:
        yield Finding("sandbox", False, str(error))
        return
    if not engine.ok:
        yield Finding("sandbox", False, "not looked at: it needs Docker")
        return
    try:
        yield checks.check_left_overs()
        image = checks.check_image(policy)
        yield image
    except RoundtableError as error:
        yield Finding("image", False, str(error))
        return
    if image.ok:
        yield await checks.check_sandbox(policy, settings)
    else:
        yield Finding("limits", False, "not looked at: they need the image")


async def _attack(console: Console, settings: Settings) -> bool:
    from interfaces.terminal.attack import play

    console.print()
    started = time.monotonic()
    played = contained = 0
    try:
        async for outcome in play(settings):
            played += 1
            contained += outcome.contained
            word, style = ("contained", "green") if outcome.contained else ("NOT CONTAINED", "bold red")
            line = Text.assemble((f"{word:<15}", style), f"{outcome.attack.name:<20}{outcome.text}")
            console.print(line)
    except RoundtableError as error:
        _print(console, Finding("attack", False, str(error)))
    seconds = time.monotonic() - started
    console.print(f"{contained} of {played} attacks contained, in {seconds:.1f} s")
    return played > 0 and contained == played


def _print(console: Console, finding: Finding) -> None:
    word, style = ("ok", "green") if finding.ok else ("NOT OK", "bold red")
    console.print(Text.assemble((f"{word:<8}", style), f"{finding.name:<{_NAME_WIDTH}}{finding.text}"))
