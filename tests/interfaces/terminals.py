"""A real pseudo-terminal with a screen that tests can read."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

ROOT = Path(__file__).resolve().parents[2]
FAKE_CHAT = str(Path(__file__).with_name("fake_chat.py"))

CTRL_C, CTRL_D, ALT_ENTER = "\x03", "\x04", "\x1b\r"


class PseudoTerminal:
    """Runs a Python program in a pseudo-terminal and keeps what a human would see: the screen and what is above."""

    def __init__(self, *arguments: str, columns: int = 80, rows: int = 24, environ: Mapping[str, str] = {}) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        clean = {
            name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TMUX", "COLUMNS", "LINES")
        }
        env = {
            **clean,
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            "PROMPT_TOOLKIT_NO_CPR": "1",
            **environ,
        }
        self.process: pexpect.spawn[bytes] = pexpect.spawn(
            sys.executable, list(arguments), env=env, dimensions=(rows, columns), timeout=20
        )

    def __enter__(self) -> PseudoTerminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.close(force=True)

    @property
    def text(self) -> str:
        """Everything that was shown, from the first line on."""
        above = ["".join(line[x].data for x in range(self.screen.columns)).rstrip() for line in self.screen.history.top]
        return "\n".join([*above, *(line.rstrip() for line in self.screen.display)]).rstrip()

    @property
    def last(self) -> str:
        """The last line that has something on it."""
        return self.text.splitlines()[-1] if self.text else ""

    def type(self, text: str) -> None:
        """Type keys, without Enter."""
        self.process.send(text)

    def enter(self, text: str = "") -> None:
        """Type a line and Enter."""
        self.process.send(text + "\r")

    def wait(self, text: str, *, count: int = 1, timeout: float = 20.0) -> str:
        """Read until the text was shown so many times. Everything that was shown."""
        return self.until(lambda: self.text.count(text) >= count, f"{count} x {text!r}", timeout)

    def wait_prompt(self, prompt: str = "›", timeout: float = 20.0) -> str:
        """Read until the last line is this prompt."""
        return self.until(lambda: self.last.strip() == prompt, f"the prompt {prompt!r}", timeout)

    def until(self, there: Callable[[], bool], what: str, timeout: float = 20.0) -> str:
        """Read until the condition holds."""
        end = time.monotonic() + timeout
        while not there():
            if time.monotonic() > end:
                raise AssertionError(f"{what} was not shown within {timeout} s:\n{self.text}")
            self._read()
        return self.text

    def exit_status(self, timeout: float = 20.0, on_wait: Callable[[], object] = lambda: None) -> int:
        """Wait for the end of the program. `on_wait` is called again and again meanwhile."""
        end = time.monotonic() + timeout
        while self._read():
            on_wait()
            assert time.monotonic() < end, f"the program did not end within {timeout} s:\n{self.text}"
        if self.process.isalive():
            self.process.wait()
        if self.process.exitstatus is None:  # a signal ended it: the status that a shell tells
            return 128 + int(self.process.signalstatus or 0)
        return int(self.process.exitstatus)

    def _read(self) -> bool:
        try:
            data = self.process.read_nonblocking(65536, timeout=0.1)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True
