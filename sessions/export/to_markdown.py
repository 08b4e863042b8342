"""Markdown: the conversation as a text that reads well, with pictures inside."""

from __future__ import annotations

import base64
import re

from sessions.events import (
    AnswerEvent,
    ErrorEvent,
    MessageEvent,
    NoticeEvent,
    QuestionEvent,
    ReviewEvent,
    StopEvent,
    TaskEvent,
)
from sessions.export.story import Picture, Run, Step, Story
from sessions.export.words import BY, WHO, answer_of, ending, is_account, stop_of, verdict_of, visible
from sessions.summary import models_of


def render(story: Story) -> str:
    """The whole session. Pictures are data URIs, named at the end so that the text stays readable."""
    info = story.info
    pictures: list[Picture] = []
    parts = [
        f"# {_line(info.task)[:200] or 'Session ' + info.id}",
        f"Session {info.id}, {info.created[:16].replace('T', ' ')} UTC, "
        f"model {_line(models_of(info, story.steps)) or 'unknown'}, "
        f"{info.blocks} blocks run, {info.usage.prompt_tokens + info.usage.completion_tokens:,} tokens.",
    ]
    for step in story.steps:
        parts += _step(step, pictures)
    parts += [
        f"[picture-{number}]: data:{picture.media_type};base64,{base64.b64encode(picture.data).decode()}"
        for number, picture in enumerate(pictures, 1)
    ]
    return "\n\n".join(parts) + "\n"


def _step(step: Step, pictures: list[Picture]) -> list[str]:
    if isinstance(step, TaskEvent):
        return ["## Task", _quote(step.text)]
    if isinstance(step, MessageEvent):
        if is_account(step):
            return []
        return [f"### {WHO.get(step.source, _line(step.source))}", _closed(visible(step.text))]
    if isinstance(step, ReviewEvent):
        return ["### Safety reviewer", "\n".join(_verdict(step))]
    if isinstance(step, Run):
        return _run(step, pictures)
    if isinstance(step, QuestionEvent):
        return [f"**Asked:** {_line(step.text)}"]
    if isinstance(step, AnswerEvent):
        return [f"**Answer:** {_line(answer_of(step))}"]
    if isinstance(step, NoticeEvent | ErrorEvent):
        kind = "Error" if isinstance(step, ErrorEvent) else "Note"
        return [f"*{kind}: {_line(step.text)}*"]
    return [f"**{_line(stop_of(step))}**"] if isinstance(step, StopEvent) else []


def _verdict(event: ReviewEvent) -> list[str]:
    lines = []
    for block in event.blocks:
        lines.append(f"- Block {int(block.get('index', 0)) + 1}: **{_line(verdict_of(block))}**")
        lines += [
            f"  - line {finding.get('line', 0)}: {_line(str(finding.get('message', '')))} "
            f"(`{_line(str(finding.get('rule', '')))}`)"
            for finding in block.get("findings", ())
        ]
    return lines or [f"- **{event.verdict}**"]


def _run(run: Run, pictures: list[Picture]) -> list[str]:
    parts = [f"### Block {run.index + 1} ran ({run.language})", f"{BY[run.by]}; {ending(run)}; `{run.digest[:12]}`"]
    if run.code:
        parts.append(_fenced(run.code, run.language))
    if run.pieces:
        parts.append(_fenced("".join(text for _, text in run.pieces), "text"))
    if run.files:
        parts.append("\n".join(f"- {_line(file.path)} ({file.change}, {file.size:,} bytes)" for file in run.files))
    for picture in run.pictures:
        pictures.append(picture)
        parts.append(f"![{_line(picture.path)}][picture-{len(pictures)}]")
    return parts


def _line(text: str) -> str:
    """A text on one line, in which nothing is taken for Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>#|&])", r"\\\1", " ".join(visible(text).split()))


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in visible(text).split("\n"))


def _fenced(text: str, language: str) -> str:
    """The text between fences that are longer than any inside it."""
    longest = max((len(found) for found in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{visible(text)}{end}{fence}"


def _closed(text: str) -> str:
    """A message whose last fence was never closed must not swallow what follows it."""
    fence = ""
    for line in text.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text
