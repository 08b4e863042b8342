"""What is shown of events, in 80 columns, without a terminal."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from interfaces.terminal.banner import banner
from interfaces.terminal.outlet import make_console
from interfaces.terminal.screen import Screen
from sandbox.base import SandboxInfo
from sessions.events import (
    AnswerEvent,
    BlockInfo,
    ErrorEvent,
    Event,
    ExecutionEvent,
    FileInfo,
    MessageEvent,
    NoticeEvent,
    OutputEvent,
    QuestionEvent,
    ReviewEvent,
    StopEvent,
    Usage,
)
from sessions.progress import Delta, Progress, Step, Waiting
from teams.wiring import ConversationInfo


class Shown:
    """A screen over a string."""

    def __init__(self, **options: object) -> None:
        self.file = StringIO()
        self.screen = Screen(make_console(self.file, width=80), **options)  # type: ignore[arg-type]  # work_dir

    def __call__(self, *happened: Event | Progress) -> str:
        """Show these; what came on the screen because of them."""
        before = len(self.file.getvalue())
        for each in happened:
            if isinstance(each, Delta | Step | Waiting):
                self.screen.on_progress(each)
            else:
                self.screen.on_event(each)
        return self.file.getvalue()[before:]


def words(text: str, **fields: object) -> MessageEvent:
    return MessageEvent(source="code_generator", id="m1", text=text, **fields)  # type: ignore[arg-type]  # its fields


def passed() -> MessageEvent:
    return MessageEvent(source="user_proxy", id="p", text="(pass)", kind="pass")


def review(verdict: str, reason: str = "", *findings: dict[str, object], blocks: int = 1) -> ReviewEvent:
    block = {"language": "python", "digest": "3fa9c1" * 8, "verdict": verdict, "reason": reason, "findings": findings}
    return ReviewEvent(
        source="safety_reviewer",
        message="m1",
        verdict=verdict,  # type: ignore[arg-type]  # one of the three
        digests=("3fa9c1" * 8,) * blocks,
        blocks=tuple({"index": i, **block} for i in range(blocks)),
        duration_s=0.8,
    )


def ran(**fields: object) -> ExecutionEvent:
    base = {"source": "code_executor", "message": "m1", "index": 0, "digest": "d", "language": "python"}
    return ExecutionEvent(**{**base, "exit_code": 0, "duration_s": 0.02, **fields})  # type: ignore[arg-type]  # its fields


def output(text: str, stream: str = "stdout") -> OutputEvent:
    return OutputEvent(source="code_executor", stream=stream, text=text)  # type: ignore[arg-type]  # one of two


def test_streamed_words_are_not_shown_again_with_the_message() -> None:
    shown = Shown()
    out = shown(Delta("code_generator", "Hello *wor"), Delta("code_generator", "ld*.\n"), words("Hello *world*.\n"))
    assert out == "Hello world.\n\n"


def test_a_message_that_was_not_streamed_is_shown_with_its_thought() -> None:
    assert Shown()(words("Hello.", thought="Hm.\nYes.")) == "thinking\nHm.\nYes.\n\nHello.\n\n"


def test_a_message_that_differs_from_what_was_streamed_is_shown_as_recorded() -> None:
    out = Shown()(Delta("code_generator", "Hel"), words("Goodbye."))
    assert out == "Hel\n● The message as it was recorded:\nGoodbye.\n\n"


def test_a_stream_that_broke_off_begins_anew() -> None:
    retry = NoticeEvent(source="program", kind="retry", text="The stream broke off.")
    out = Shown()(Delta("code_generator", "```python\nx ="), retry, Delta("code_generator", "Hi."), words("Hi."))
    assert out.splitlines()[1:] == ["x =", "─" * 80, "● The stream broke off.", "Hi.", ""]


def test_thoughts_come_before_words() -> None:
    out = Shown()(
        Delta("code_generator", "\nI th", thought=True),
        Delta("code_generator", "ink.", thought=True),
        Delta("code_generator", "So."),
        words("So.", thought="I think."),
    )
    assert out == "thinking\nI think.\n\nSo.\n\n"


def test_a_round_has_one_line() -> None:
    shown = Shown()
    shown(words("x", duration_s=3.1, blocks=(BlockInfo(index=0, language="python", digest="d", code="x"),)))
    out = shown(review("allow"), output("1\n"), ran(), passed())
    assert out.splitlines()[-2] == "✔ generated 3.1 s · ✔ allowed 0.8 s · ✔ ran 0.02 s, exit 0"


@pytest.mark.parametrize(
    ("events", "line"),
    [
        ([review("deny", "No.")], "✘ denied 0.8 s"),
        ([ran(exit_code=1)], "✘ ran 0.02 s, exit 1"),
        ([ran(exit_code=137, oom=True)], "✘ ran 0.02 s, out of memory, exit 137"),
        ([ran(exit_code=124, timed_out=True)], "✘ ran 0.02 s, time limit, exit 124"),
        ([ran(exit_code=130, cancelled=True)], "✘ ran 0.02 s, stopped"),
        ([ran(), ran(index=1)], "✔ ran 2 blocks, 0.04 s, exit 0"),
        (
            [review("ask"), AnswerEvent(source="user", question="q", kind="run", decision="no")],
            "● ask 0.8 s · ✘ refused",
        ),
        ([words("x", cut="length", duration_s=2)], "✘ cut short 2.0 s"),
    ],
)
def test_how_a_round_went(events: list[Event], line: str) -> None:
    assert Shown()(*events, passed()).splitlines()[-2] == line


def test_a_round_in_which_nothing_happened_has_no_line() -> None:
    assert Shown()(passed()) == ""


def test_a_verdict_names_digest_reason_and_findings() -> None:
    finding = {"line": 3, "rule": "files.outside", "message": "deletes [red]/etc/passwd[/red]", "touches": "host"}
    out = Shown()(review("deny", "It \x1b[31mdeletes.", finding), passed())
    assert out.splitlines()[:3] == [
        "✘ denied  python 3fa9c1",
        "  It ␛[31mdeletes.",
        "   line 3 deletes [red]/etc/passwd[/red]  (files.outside, host)",
    ]


def test_a_finding_that_the_reason_tells_is_not_told_twice() -> None:
    finding = {"line": 2, "rule": "network.request", "message": "reaches out", "touches": "network"}
    out = Shown()(review("deny", "reaches out (line 2). There is no network.", finding), passed())
    assert out.splitlines()[1] == "  reaches out (line 2). There is no network.  (network.request)"
    assert out.splitlines()[2] == "✘ denied 0.8 s"


def test_a_question_about_a_run_takes_over_the_verdict() -> None:
    question = QuestionEvent(source="code_executor", id="q", kind="run", text="Run?")
    reviewer_passes = MessageEvent(source="safety_reviewer", id="p", text="(pass)", kind="pass")
    assert Shown()(review("ask", "Risky."), reviewer_passes, question) == ""


def test_output_is_shown_by_lines_with_its_stream() -> None:
    out = Shown()(output("a\nb"), output("c\r\n\x1b]0;t\x07[bold]\n"), output("oops", "stderr"), ran())
    assert out == "│ a\n│ bc\n│ ␛]0;t␇[bold]\n┃ oops\n"


def test_what_wraps_stays_behind_its_bar() -> None:
    out = Shown()(output("x" * 78 + "✔ approved\n", "stderr"), ran())
    assert out.splitlines() == ["┃ " + "x" * 78, "┃ ✔ approved"]


def test_carriage_returns_do_not_overwrite() -> None:
    assert Shown()(output("safe\rrm -rf /\n"), ran()) == "│ safe␍rm -rf /\n"


def test_output_that_was_not_streamed_is_shown_with_the_result() -> None:
    assert Shown()(ran(output="late\n")) == "│ late\n"


def test_much_output_keeps_its_start_and_its_end() -> None:
    lines = Shown()(output("".join(f"{n}\n" for n in range(5000))), ran()).splitlines()
    assert lines[0] == "│ 0"
    assert lines[299:302] == ["│ 299", "⋯ 4,660 lines not shown", "│ 4960"]
    assert lines[-1] == "│ 4999"


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    shown = Shown()
    for _ in range(50):
        shown(output("x" * 100_000))
    assert "more characters" in shown(ran())
    assert len(shown.file.getvalue()) < 10_000


def test_files_and_pictures_that_came_back(tmp_path: Path) -> None:
    files = (FileInfo(path="out/\x1b[1mplot.png", size=23_400), FileInfo(path="old", size=0, change="deleted"))
    out = Shown(work_dir=lambda: tmp_path)(ran(files=files, left_behind=("huge.bin: larger than 64 MB",)))
    assert out.splitlines() == [
        "→ out/␛[1mplot.png  new, 23.4 KB",
        "→ old  deleted, 0 B",
        "● left behind: huge.bin: larger than 64 MB",
    ]


def test_a_thousand_files_are_counted_not_listed() -> None:
    files = tuple(FileInfo(path=f"{number}.txt", size=1) for number in range(1000))
    left = tuple(f"{number}: more than 4096 files" for number in range(99))
    left = (*left, "and 2901 more")
    lines = Shown()(ran(files=files, left_behind=left)).splitlines()
    assert (len(lines), lines[30], lines[-1]) == (62, "→ and 970 files more", "● left behind: and 2,970 more")


def test_waiting_errors_and_notices_are_one_line_each() -> None:
    out = Shown()(
        Waiting("code_generator", "429 Too Many\nRequests", 2, 5, 4.0),
        NoticeEvent(source="program", text="ollama\ntakes over."),
        ErrorEvent(source="program", kind="ModelError", text="Refused:\n401.", hint="Check OPENAI_API_KEY."),
    )
    assert out.splitlines() == [
        "● 429 Too Many Requests: again in 4.0 s (try 2 of 5)",
        "● ollama takes over.",
        "✘ Refused: 401. Check OPENAI_API_KEY.",
    ]


def test_what_cannot_run_is_said() -> None:
    out = Shown()(words("x", unsupported=("cobol",), unterminated=True, cut="length"))
    assert out.splitlines()[2:] == [
        "● cobol cannot be run here",
        "● A fence was not closed: nothing of this message runs",
        "● The message is incomplete (length): nothing of it runs",
    ]


def test_a_language_that_the_full_image_has_is_said_with_the_way_to_it() -> None:
    out = Shown()(words("x", unsupported=("golang",)))
    hint = "golang cannot be run here: the full image has it (`make image-full`, then `variant: full` in sandbox.yaml)"
    assert " ".join(out.split()).endswith(hint)


@pytest.mark.parametrize(
    ("code", "says"), [(139, "exit 139, segmentation fault"), (159, "exit 159, forbidden system call"), (3, "exit 3")]
)
def test_a_death_by_a_signal_is_named(code: int, says: str) -> None:
    assert Shown()(ran(exit_code=code), passed()).rstrip().endswith(says)


@pytest.mark.parametrize(("blocks", "times"), [(1, 0), (2, 1)])
def test_a_verdict_is_not_shown_before_a_question_that_shows_it(blocks: int, times: int) -> None:
    question = QuestionEvent(source="code_executor", id="q", kind="network", text="x", blocks=({"index": 0},))
    assert Shown()(review("ask", "Reaches out.", blocks=blocks), question).count("to be asked") == blocks * times


def test_the_banner_tells_the_time_a_block_once() -> None:
    limits = {"time a block": "60 s"}
    sandbox = SandboxInfo("local: NO SANDBOX", ("python",), (), network="full", limits=limits, timeout_s=60)
    console = make_console(out := StringIO(), width=80)
    info = ConversationInfo("m (p)", sandbox, (), Path("w"), "s1", "risky")
    console.print(*banner(info, demo=False, human=True))
    assert "local: NO SANDBOX, with network, 60 s a block\n" in out.getvalue()


def test_the_summary_has_everything() -> None:
    usage = Usage(prompt_tokens=1830, completion_tokens=412, calls=3)
    stop = StopEvent(
        source="program", reason="stuck", text="Twice.", usage=usage, duration_s=64, blocks_run=2, work_dir="/w"
    )
    assert Shown()(stop).splitlines() == [
        "✘ stuck: Twice.",
        "  2 blocks run · 3 model calls · 2,242 tokens (1,830 in, 412 out) · 1 min 4 s",
        "  files: /w",
    ]


def test_what_comes_while_the_prompt_is_open_waits_for_its_end() -> None:
    shown = Shown()
    shown.screen.hold()
    assert shown(NoticeEvent(source="program", text="later")) == ""
    shown.screen.release()
    assert shown.file.getvalue() == "● later\n"


def test_nothing_shown_without_a_terminal_has_control_codes_or_spaces_at_the_end() -> None:
    shown = Shown()
    shown(
        Step("code_generator", "generating", "started"),
        words("# A\n\ntext\n\n```python\nx\n```\n", thought="hm"),
        review("deny", "No.", {"line": 1, "message": "m", "rule": "r"}),
        ran(output="x\n"),
        passed(),
    )
    assert "\x1b" not in shown.file.getvalue()
