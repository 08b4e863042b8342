"""What a fuzz run feeds: each target takes any text and raises where a promise is broken."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from safety.code_blocks import parse
from safety.fences import fence_name
from safety.gate import Gate
from safety.rules import MAX_BYTES, review
from safety.visible import far_away, hidden_findings, visible
from tests.fuzz.reference import fences

LANGUAGES = {"python": "python", "py": "python", "sh": "bash", "bash": "bash"}
LONGEST_S = 2.0
"""CPU seconds that a message may take to be read and shown."""
LONGEST_REVIEW_S = 0.2
"""CPU seconds that a block may take to be judged by the rules."""

# Where cmark, markdown-it and the specification are known not to agree; all of it is read in a safe way.
_DISPUTED = re.compile(
    r"^[ \t>]*(?:[-+*]|\d+[.)])[ \t]*\n[ \t>]*\n"  # an empty list item before a blank line
    r"|^ *(?: {4}|\t)[ \t]*>"  # a quote marker behind four blanks
    r"|<[a-zA-Z/]"  # HTML after a lazy line
    r"|^[ \t>]*\[[^\n]*\]:",  # a link reference that a heading's underline follows
    re.MULTILINE,
)


class TooSlowError(AssertionError):
    """A target took longer than it may."""


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Raise `TooSlowError` when the body takes more CPU than that."""
    start = time.process_time()
    yield
    spent = time.process_time() - start
    if spent > limit_s:
        raise TooSlowError(f"{spent:.2f} s of CPU, and {limit_s} s are allowed")


def read_message(text: str) -> None:
    """The parser: no exception, the same twice, in order, nothing from an unterminated message."""
    with within(LONGEST_S):
        parsed = parse(text, LANGUAGES)
    assert parsed == parse(text, LANGUAGES)
    assert [block.index for block in parsed.blocks] == list(range(len(parsed.blocks)))
    assert not (parsed.unterminated and parsed.blocks)
    for name in parsed.unsupported:
        assert name.isprintable()


def agree_with_cmark(text: str) -> None:
    """The parser and cmark see the same fences."""
    text = text.replace("\r", "").replace("\0", "").encode("utf-8", "ignore").decode()
    parsed = parse(text, LANGUAGES)
    if parsed.unterminated or _DISPUTED.search(text) or _depth(text) > 8:
        return
    expected = [fence for fence in fences(text) if not fence.quoted and fence.code.strip()]
    runnable = [fence for fence in expected if fence_name(fence.info) in LANGUAGES]
    assert [(block.code, block.line) for block in parsed.blocks] == [(f.code, f.line + 1) for f in runnable]
    assert all(fence.closed for fence in expected)


def _depth(text: str) -> int:
    """Container markers of the line that has most of them: beyond twenty levels nothing is read."""
    return max((len(re.findall(r">|[-+*](?=\s)|\d+[.)]", line)) for line in text.split("\n")), default=0)


def pass_the_gate(text: str) -> None:
    """What was approved comes out, once, as it was parsed."""
    blocks = parse(text, LANGUAGES).blocks
    gate = Gate("policy")
    gate.propose("message", blocks)
    for block in blocks:
        gate.approve("message", block.index, block.digest, "human")
        assert gate.take("message", block.index, block.digest) == block
    resumed = Gate("policy")
    resumed.load_state(gate.save_state())
    assert resumed.blocks == blocks


def look(text: str) -> None:
    """The views: no exception, nothing left for a terminal to obey."""
    with within(LONGEST_S):
        shown = visible(text)
        far_away(text)
        for language in ("python", "bash", ""):
            hidden_findings(text, language)
    assert visible(shown) == shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)


def judge(text: str) -> None:
    """The rules: no exception, and an answer within their time for blocks up to 48 KB."""
    text = text.encode("utf-8", "surrogatepass")[: MAX_BYTES - 3].decode("utf-8", "ignore")
    for language in ("python", "bash"):
        try:
            with within(LONGEST_REVIEW_S):
                review(language, text)
        except TooSlowError:
            with within(LONGEST_REVIEW_S):  # once more, since something else may have taken the time
                review(language, text)
        if hidden := {finding.verdict for finding in hidden_findings(text, language)} - {"allow"}:
            verdict, findings = review(language, text)
            assert verdict == "deny" if "deny" in hidden else verdict in ("ask", "deny"), findings


TARGETS: tuple[Callable[[str], None], ...] = (read_message, agree_with_cmark, pass_the_gate, look, judge)
