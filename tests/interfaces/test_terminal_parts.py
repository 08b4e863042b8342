"""The terminal's small parts: the outlet, sizes and times, commands, pictures, typed lines, the live region."""

from __future__ import annotations

import asyncio
import io
import os
import zlib
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from interfaces.terminal.commands import completions, list_files, parse_command
from interfaces.terminal.editor import editor_command
from interfaces.terminal.live import LiveRegion
from interfaces.terminal.outlet import Outlet, can_redraw, make_console, rule
from interfaces.terminal.pictures import Pictures, protocol
from interfaces.terminal.plain import counted, one_line, seconds, size
from interfaces.terminal.prompt import Lines
from interfaces.terminal.status import Status
from interfaces.terminal.summary import error_line
from sessions.progress import Step
from utils.errors import ConfigurationError, EndOfInputError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "<0.01 s"),
        (0.02, "0.02 s"),
        (0.8, "0.8 s"),
        (3.14, "3.1 s"),
        (59.97, "1 min 0 s"),
        (125, "2 min 5 s"),
        (7260, "2 h 1 min"),
    ],
)
def test_durations(value: float, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (23_400, "23.4 KB"), (999_990, "1.0 MB"), (5 * 10**9, "5.0 GB")],
)
def test_sizes(value: int, text: str) -> None:
    assert size(value) == text


def test_words_for_numbers() -> None:
    assert [counted(n, "block") for n in (0, 1, 2000)] == ["0 blocks", "1 block", "2,000 blocks"]
    assert one_line("a\nb" + "c" * 10, 5) == "a bcc … 8 more characters"


class Encoded(io.TextIOWrapper):
    """A file of some encoding, in memory."""

    def __init__(self, encoding: str) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("ascii", "ok ran - 3 ^[ ? -> |"), ("latin-1", "ok ran - 3 ^[ é -> |"), ("utf-8", "✔ ran · 3 ␛ é → │")],
)
def test_what_the_encoding_lacks_is_put_in_other_words(encoding: str, text: str) -> None:
    file = Encoded(encoding)
    outlet = Outlet(file)
    outlet.write("✔ ran · 3 ␛ é → │")
    assert file.bytes.getvalue().decode(encoding) == text


def test_lone_surrogates_do_not_end_the_program() -> None:
    file = Encoded("utf-8")
    Outlet(file).write("a\ud800b")
    assert file.bytes.getvalue() == b"a?b"


def test_a_batch_is_one_write() -> None:
    writes: list[str] = []

    class File(StringIO):
        def write(self, text: str) -> int:
            writes.append(text)
            return len(text)

    outlet = Outlet(File())
    with outlet.batch():
        outlet.write("a")
        with outlet.batch():
            outlet.write("b")
        outlet.flush()
        outlet.write("c")
    assert writes == ["abc"]


def test_a_reader_that_is_gone_ends_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as file:
        outlet = Outlet(file)
        outlet.write("lost")
        outlet.write("also lost")


def test_a_line_across_a_wide_screen_is_80_columns() -> None:
    file = StringIO()
    make_console(file, width=200).print(rule("title"))
    assert len(file.getvalue().rstrip("\n")) == 80


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/help", ("help", "")),
        (" /Model  gpt x ", ("model", "gpt x")),
        ("/?", ("?", "")),
        ("/etc/passwd: what is it", None),
        ("what does /help do", None),
        ("/ slash", None),
        ("", None),
    ],
)
def test_commands_and_tasks_are_told_apart(text: str, command: tuple[str, str] | None) -> None:
    assert parse_command(text) == command


def test_completions() -> None:
    assert [name for name, _ in completions(None, "/")] == [
        "/help", "/new", "/model", "/ask", "/retry", "/files", "/why", "/quit",
    ]  # fmt: skip
    assert [name for name, _ in completions(None, "/ask r")] == ["risky"]
    assert completions(None, "/files ") == []


def test_files_are_listed_without_hidden_ones_and_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_text("12")
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert list_files(tmp_path) == [("a/b.txt", 2)]
    assert list_files(tmp_path / "missing") == []


def png(width: int, height: int) -> bytes:
    size_ = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    head = b"IHDR" + size_ + b"\x08\x02\x00\x00\x00"
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\r" + head + zlib.crc32(head).to_bytes(4, "big")


def terminal(**environ: str) -> tuple[Pictures, StringIO]:
    file = StringIO()
    console = Console(file=file, force_terminal=True, width=80, height=24, _environ={"TERM": "xterm"})
    return Pictures(console, environ), file


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM_PROGRAM": "ghostty"}, "kitty"),
        ({"TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"LC_TERMINAL": "iTerm2"}, "iterm"),
        ({"TERM_PROGRAM": "WezTerm"}, "iterm"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, ""),
        ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, ""),
        ({"TERM": "xterm-256color"}, ""),
    ],
)
def test_which_terminals_take_pictures(environ: dict[str, str], expected: str) -> None:
    assert protocol(environ) == expected


def test_a_picture_is_sized_to_the_screen_and_sent_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "wide.png").write_bytes(png(4000, 100) + b"\0" * 10_000)
    pictures, file = terminal(KITTY_WINDOW_ID="1")
    assert pictures.show(tmp_path, "wide.png")
    assert "\x1b_Ga=T,f=100,q=2,c=76,m=1;" in file.getvalue()
    assert max(len(piece) for piece in file.getvalue().split("\x1b_G")) < 4200
    pictures, file = terminal(TERM_PROGRAM="iTerm.app")
    assert pictures.show(tmp_path, "wide.png")
    assert "\x1b]1337;File=inline=1;width=76;" in file.getvalue()


def test_only_pictures_of_the_work_directory_are_shown(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret.png").write_bytes(png(10, 10))
    (work / "link.png").symlink_to(tmp_path / "secret.png")
    (work / "text.png").write_text("no picture")
    pictures, file = terminal(KITTY_WINDOW_ID="1")
    for path in ("../secret.png", "link.png", "text.png", "missing.png", str(tmp_path / "secret.png")):
        assert not pictures.show(work, path), path
    assert file.getvalue() == ""


async def test_lines_are_read_one_by_one_and_joined_at_a_backslash() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"one \\\ntwo\r\nanswer\nrest")
    os.close(writer)
    prompts: list[str] = []
    lines = Lines(reader, prompts.append)
    assert await lines.task("> ") == "one \ntwo"
    assert await lines.answer("? ") == "answer"
    assert await lines.answer("? ") == "rest"
    with pytest.raises(EndOfInputError):
        await lines.answer("? ")
    assert prompts == ["> ", "? ", "? ", "? "]
    os.close(reader)


async def test_a_read_that_was_cancelled_loses_nothing() -> None:
    reader, writer = os.pipe()
    lines = Lines(reader, lambda text: None)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(lines.answer(""), 0.05)
    os.write(writer, b"kept\n")
    assert await lines.answer("") == "kept"
    os.close(writer)
    os.close(reader)


def test_the_editor_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    assert editor_command({"VISUAL": "sh -c 'x y'", "EDITOR": "false"}) == ["sh", "-c", "x y"]
    assert editor_command({"EDITOR": "sh"}) == ["sh"]
    with pytest.raises(ConfigurationError, match="EDITOR names no-such-editor"):
        editor_command({"EDITOR": "no-such-editor"})
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ConfigurationError, match="No editor is installed"):
        editor_command({})


def test_the_live_region_draws_only_changes_and_goes_away() -> None:
    file = StringIO()
    console = Console(file=file, force_terminal=True, width=20, height=6, _environ={"TERM": "xterm"})
    live = LiveRegion(console)
    live.draw(Text("one\ntwo"))
    first = len(file.getvalue())
    live.draw(Text("one\ntwo"))
    assert len(file.getvalue()) == first
    live.draw(Text("\n".join(str(n) for n in range(100))))
    assert file.getvalue().count("\n") == 1 + 3
    live.clear()
    assert file.getvalue().endswith("\r\x1b[3A\x1b[J\x1b[?25h")
    live.clear()
    assert file.getvalue().count("\x1b[?25h") == 1


def test_nothing_is_drawn_where_nothing_can_be_redrawn() -> None:
    file = StringIO()
    console = make_console(file)
    assert not can_redraw(console)
    LiveRegion(console).draw(Text("x"))
    assert file.getvalue() == ""


def test_a_long_wait_is_told_also_without_a_live_region(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("interfaces.terminal.status.time.monotonic", lambda: clock[0])
    status = Status("utf-8")
    status.start(Step("code_generator", "generating", "started"))
    told = []
    for second in range(75):
        clock[0] = float(second)
        told += [f"{second}: {line.plain}"] if (line := status.patience()) else []
    assert told == [
        "10: ● waiting for the model 10.0 s",
        "40: ● waiting for the model 40.0 s",
        "70: ● waiting for the model 1 min 10 s",
    ]
    status.words_came()
    clock[0] = 200.0
    assert status.patience() is None


def test_the_status_tells_the_latest_step_and_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("interfaces.terminal.status.time.monotonic", lambda: clock[0])
    status = Status("ascii")
    assert status.line() is None
    status.start(Step("program", "building image", "started", "3 of 7"))
    status.start(Step("code_executor", "running", "started"))
    clock[0] = 2.5
    line = status.line()
    assert line is not None
    assert line.plain[1:] == " running 2.5 s"
    status.clear()
    assert status.toolbar() == "building the sandbox image 3 of 7 2.5 s"
    status.end(Step("program", "building image", "ended"))
    assert status.toolbar() == ""


def test_an_error_breaks_between_words_and_never_in_a_path() -> None:
    path = "/a/path/that/is/longer/than/the/screen/is/wide.yaml"
    file = StringIO()
    make_console(file, width=30).print(
        error_line(f"It stands in {path}", "Do one, two, three, four, five."), crop=False
    )
    lines = file.getvalue().splitlines()
    assert lines == ["✘ It stands in", f"  {path}.", "  Do one, two, three, four,", "  five."]
