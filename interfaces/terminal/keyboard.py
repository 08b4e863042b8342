"""The terminal's own settings and signals while the program works, and the way back to what they were."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

if sys.platform != "win32":
    import termios

    _LOUD = termios.ECHO | termios.ICANON | termios.ISIG

INTERRUPTED = 130
"""Exit status after two Ctrl-C, or when the program is told to end."""

_Attributes = list[Any]
"""What termios tells of a terminal: flags, speeds, control characters."""


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what is typed meanwhile off the screen. Ctrl-C still works; the terminal is put back on the way out."""
    saved = _attributes()
    if saved is None:
        yield
        return
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, _with_flags(saved, saved[3] & ~termios.ECHO))
    try:
        yield
    finally:
        _restore(saved)


@contextmanager
def loud() -> Iterator[None]:
    """Put echo back on for another program that takes over the terminal, such as an editor."""
    saved = _attributes()
    if saved is None:
        yield
        return
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, _with_flags(saved, saved[3] | _LOUD))
    try:
        yield
    finally:
        _restore(saved)


def forget_typed() -> None:
    """Drop what was typed before a question was on the screen: it cannot have been an answer to it."""
    if _attributes() is not None:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _attributes() -> _Attributes | None:
    if sys.platform == "win32" or not sys.stdin.isatty():
        return None
    try:
        return termios.tcgetattr(sys.stdin.fileno())
    except termios.error:
        return None


def _with_flags(attributes: _Attributes, local: int) -> _Attributes:
    return [*attributes[:3], local, *attributes[4:]]


def _restore(saved: _Attributes) -> None:
    try:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, saved)
    except termios.error:
        return  # the terminal is gone


@contextmanager
def signals(on_interrupt: Callable[[], None], on_leave: Callable[[], None]) -> Iterator[None]:
    """Hand Ctrl-C to `on_interrupt`, and a request to end or a closed terminal to `on_leave`, on the event loop.

    Afterwards everything is cleaned up, and Ctrl-C ends the program at once.
    """
    loop = asyncio.get_running_loop()
    wanted = {signal.SIGINT: on_interrupt, signal.SIGTERM: on_leave}
    if sys.platform != "win32":
        wanted[signal.SIGHUP] = on_leave
        for number, call in wanted.items():
            loop.add_signal_handler(number, call)
        try:
            yield
        finally:
            for number in wanted:
                loop.remove_signal_handler(number)
            signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))
        return
    before = {number: signal.getsignal(number) for number in wanted}

    def handler(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(wanted[signal.Signals(number)])

    for number in wanted:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
