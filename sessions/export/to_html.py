"""One HTML file that can be sent to a colleague: no script, no request to anywhere, everything escaped."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from sessions.events import (
    AnswerEvent,
    ErrorEvent,
    EventBase,
    MessageEvent,
    NoticeEvent,
    QuestionEvent,
    ReviewEvent,
    TaskEvent,
)
from sessions.export.highlight import code_html, code_styles, words_html
from sessions.export.story import Run, Step, Story
from sessions.export.words import BY, WHO, ending, is_account, stop_of, visible
from sessions.summary import models_of

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_COLOURS = {"allow": "good", "ask": "ask", "deny": "bad"}

_OPEN_LINES = 40
"""An output with more lines is folded."""


def render(story: Story) -> str:
    """The page."""
    info = story.info
    title = _text(" ".join(info.task.split())[:160] or f"Session {info.id}")
    tokens = info.usage.prompt_tokens + info.usage.completion_tokens
    facts = {
        "When": f"{info.created[:16].replace('T', ' ')} UTC",
        "Model": models_of(info, story.steps) or "unknown",
        "State": info.state,
        "Blocks run": str(info.blocks),
        "Tokens": f"{tokens:,}",
        "Session": info.id,
    }
    rows = "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(fact)}</dd></div>" for name, fact in facts.items())
    style = (Path(__file__).parent / "page.css").read_text("utf-8") + code_styles()
    body = "".join(_step(step) for step in story.steps)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<header><h1>{title}</h1><dl class="facts">{rows}</dl></header>\n'
        f"{body}<footer>A session of Roundtable. Nothing in this file runs or loads anything.</footer>\n"
        "</main>\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _badge(words: str, colour: str) -> str:
    return f'<span class="badge {colour}">{_text(words)}</span>'


def _card(kind: str, step: EventBase | Run, head: str, body: str) -> str:
    time = f'<time datetime="{_text(step.time)}">{_text(step.time[11:19])}</time>' if step.time else ""
    return f'<section class="{kind}">\n<h2>{head}{time}</h2>\n{body}</section>\n'


def _who(source: str) -> str:
    return f'<span class="who">{_text(WHO.get(source, source))}</span>'


def _note(text: str) -> str:
    return f'<section class="note"><p>{_text(text)}</p></section>\n'


def _step(step: Step) -> str:
    if isinstance(step, TaskEvent):
        return _card("task", step, '<span class="who">Task</span>', f'<p class="words">{_text(step.text)}</p>\n')
    if isinstance(step, MessageEvent):
        return "" if is_account(step) else _message(step)
    if isinstance(step, ReviewEvent):
        return _review(step)
    if isinstance(step, Run):
        return _run(step)
    if isinstance(step, QuestionEvent):
        return _note(f"Asked: {step.text}")
    if isinstance(step, AnswerEvent):
        decision = _badge(step.decision, "human")
        return _card("human", step, f'<span class="who">You</span>{decision}', _words(step.text))
    if isinstance(step, NoticeEvent):
        return _note(step.text)
    if isinstance(step, ErrorEvent):
        return _card("bad", step, _badge("error", "bad"), _words(f"{step.text} {step.hint}".strip()))
    colour = {"approved": "good", "stopped": "good", "answered": "good", "error": "bad"}.get(step.reason, "ask")
    return _card(colour, step, _badge("end", colour), _words(stop_of(step)))


def _words(text: str) -> str:
    return f'<p class="words">{_text(text)}</p>\n' if text else ""


def _message(message: MessageEvent) -> str:
    head = _who(message.source)
    if message.cut:
        head += _badge(f"cut short: {message.cut}", "bad")
    thought = ""
    if message.thought:
        thought = f"<details><summary>Thoughts</summary>{_words(message.thought)}</details>\n"
    kind = "human" if message.source in ("user", "user_proxy") else "message"
    return _card(kind, message, head, thought + words_html(message.text))


def _review(review: ReviewEvent) -> str:
    items = []
    for block in review.blocks:
        verdict = str(block.get("verdict", review.verdict))
        findings = "".join(
            f"<li>line {_text(str(finding.get('line', 0)))}: {_text(str(finding.get('message', '')))} "
            f"<code>{_text(str(finding.get('rule', '')))}</code></li>"
            for finding in block.get("findings", ())
        )
        reason, by = str(block.get("reason", "")), str(block.get("by", "rules"))
        items.append(
            f"<li>{_badge(verdict, _COLOURS.get(verdict, 'ask'))} block {int(block.get('index', 0)) + 1}: "
            f'{_text(reason)} <span class="faint">({_text(by)})</span>'
            + (f'<ul class="findings">{findings}</ul>' if findings else "")
            + "</li>"
        )
    colour = _COLOURS[review.verdict]
    return _card(colour, review, _who(review.source), f'<ul class="blocks">{"".join(items)}</ul>\n')


def _run(run: Run) -> str:
    good = run.exit_code == 0 and bool(run.by)
    head = (
        f'<span class="who">Block {run.index + 1} ran</span>{_badge(run.language or "code", "")}'
        f"{_badge(ending(run), 'good' if good else 'bad')}{_badge(BY[run.by], _by_colour(run))}"
    )
    parts = [_code(run), _output(run)]
    for picture in run.pictures:
        data = base64.b64encode(picture.data).decode()
        parts.append(
            f'<figure><img alt="{_text(picture.path)}" src="data:{picture.media_type};base64,{data}">'
            f"<figcaption>{_text(picture.path)}</figcaption></figure>\n"
        )
    shown = {picture.path for picture in run.pictures}
    others = [f"{file.path} ({file.change}, {file.size:,} bytes)" for file in run.files if file.path not in shown]
    if others:
        parts.append(f'<p class="faint">Files: {_text(", ".join(others))}</p>\n')
    return _card("good" if good else "bad", run, head, "".join(parts))


def _by_colour(run: Run) -> str:
    return {"policy": "good", "": "bad", "override": "ask"}.get(run.by, "human")


def _code(run: Run) -> str:
    """The code that ran: folded where it is what the message above proposed, open where the human changed it."""
    if not run.code:
        return ""
    words = "The code that ran, as the human edited it" if run.edited else "The code that ran"
    opened = " open" if run.edited else ""
    summary = f"<summary>{words} <code>{run.digest[:12]}</code></summary>"
    return f"<details{opened}>{summary}{code_html(run.code, run.language)}</details>\n"


def _output(run: Run) -> str:
    pieces = "".join(f'<span class="{_text(stream)}">{_text(text)}</span>' for stream, text in run.pieces)
    if not pieces:
        return '<p class="faint">It printed nothing.</p>\n'
    output = f'<pre class="output" tabindex="0">{pieces}</pre>\n'
    lines = sum(text.count("\n") for _, text in run.pieces)
    if lines > _OPEN_LINES:
        return f"<details><summary>Output, {lines} lines</summary>{output}</details>\n"
    return output
