"""The human's answers: one `ask` for every kind of question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from rich.console import Group, RenderableType
from rich.text import Text

from interfaces.terminal.approval import asked_blocks, difference, reasons, view, whole_block
from interfaces.terminal.commands import parse_command
from interfaces.terminal.editor import edit
from interfaces.terminal.keyboard import forget_typed, loud
from interfaces.terminal.listing import Keys
from interfaces.terminal.outlet import rule
from interfaces.terminal.pager import page
from interfaces.terminal.plain import one_line
from interfaces.terminal.prompt import Input, InterruptedInput
from interfaces.terminal.screen import Screen
from interfaces.terminal.summary import error_line
from interfaces.terminal.verdicts import DIGEST_SHOWN
from sessions.questions import Answer, AskedBlock, Question
from utils.errors import ConfigurationError, EndOfInputError

_GRACE_S = 10.0
"""How long an interrupted question waits for the conversation to cancel it, seconds."""
_EMPTY = "Nothing was answered, and nothing runs by that."
_YES = frozenset({"y", "yes", "approve"})
_NO = frozenset({"n", "no"})


class Asker:
    """Puts questions on the screen and reads the answers. An instance is the conversation's `ask`.

    Nothing is a yes but a yes that was typed after the question was shown: an empty line asks again, and what was
    typed before is dropped.
    """

    def __init__(
        self,
        screen: Screen,
        typed: Input,
        on_interrupt: Callable[[], None],
        on_command: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._screen = screen
        self._typed = typed
        self._on_interrupt = on_interrupt
        self._on_command = on_command

    async def __call__(self, question: Question) -> Answer:
        """Ask. Raises `EndOfInputError` when the input ends; may be cancelled."""
        self._screen.before_question(question.kind, len(question.blocks))
        forget_typed()
        try:
            if question.kind == "run":
                return await self._run(question)
            if question.kind == "override":
                return await self._override(question)
            if question.kind in ("package", "network"):
                return await self._grant(question)
            return await self._words(question)
        except InterruptedInput:
            self._on_interrupt()
            await asyncio.sleep(_GRACE_S)  # the conversation cancels this question
            raise EndOfInputError("The question was interrupted.") from None

    # -- what is typed -------------------------------------------------------------------------------------------

    async def _line(self, prompt: str, *, words: bool = False) -> str:
        self._screen.hold()
        try:
            with loud():
                return (await (self._typed.task(prompt) if words else self._typed.answer(prompt))).strip()
        finally:
            self._screen.release()

    def _show(self, *parts: RenderableType) -> None:
        self._screen.print(*parts)

    def _say(self, text: str) -> None:
        self._show(Text(text, style="ask"))

    async def _reply(self, prompt: str, help_: RenderableType) -> tuple[str, str]:
        """Read an answer: its first word, and the rest. Commands are run, and the question stands again after them."""
        while True:
            line = await self._line(prompt)
            command = parse_command(line)
            if command is None:
                return _split(line)
            await self._on_command(*command)
            self._show(help_)

    def _not_understood(self, word: str, rest: str, help_: RenderableType) -> None:
        """Say what was not understood, and what can be typed."""
        typed = one_line(f"{word} {rest}".rstrip(), 60)
        self._show(Text(f"'{typed}' is no answer here: nothing runs by it." if typed else _EMPTY, style="ask"), help_)

    # -- the run question ----------------------------------------------------------------------------------------

    async def _run(self, question: Question) -> Answer:
        keys = _Keys(question)
        self._show(*view(question), keys.help())
        while True:
            word, rest = await self._reply("run? › ", keys.help())
            if word in _YES and keys.allows("yes") and not rest:
                return Answer("yes")
            elif word in _NO:
                return Answer("no", text=rest)
            elif word in ("v", "view"):
                await self._page(question)
            elif word in ("d", "diff"):
                self._show(*difference(asked_blocks(question)))
            elif word in ("a", "always") and keys.allows("always") and not rest:
                return Answer("always")
            elif word in ("o", "each") and keys.allows("each"):
                return await self._one_by_one(question)
            elif word in ("e", "edit") and keys.allows("edit"):
                if answer := await self._edit(question, rest):
                    return answer
            else:
                self._not_understood(word, rest, keys.help())

    async def _one_by_one(self, question: Question) -> Answer:
        answers: list[Answer] = []
        for block in asked_blocks(question):
            self._show(*reasons(block, len(question.blocks)))
            answers.append(await self._yes_or_no(f"run block {block.index + 1}? › "))
        return Answer("each", each=tuple(answers))

    async def _yes_or_no(self, prompt: str, question: Question | None = None) -> Answer:
        help_ = _help(("y", "yes"), ("n", "no, n why"), *([("v", "view whole")] if question else []))
        self._show(help_)
        while True:
            word, rest = await self._reply(prompt, help_)
            if question is not None and word in ("v", "view"):
                await self._page(question)
                continue
            if word in _YES and not rest:
                return Answer("yes")
            if word in _NO:
                return Answer("no", text=rest)
            self._not_understood(word, rest, help_)

    async def _edit(self, question: Question, which: str) -> Answer | None:
        """Open the editor on one block; None where there is nothing new."""
        block = self._chosen(asked_blocks(question), which)
        if block is None:
            return None
        self._screen.hold()
        try:
            code = await edit(block.code, block.language)
        except (ConfigurationError, OSError) as error:
            self._screen.release()
            self._show(error_line(str(error)))
            return None
        self._screen.release()
        if code == block.code:
            self._say("Nothing was changed.")
            return None
        return Answer("edit", code=code, index=block.index)

    def _chosen(self, blocks: list[AskedBlock], which: str) -> AskedBlock | None:
        if len(blocks) == 1 and not which:
            return blocks[0]
        for block in blocks:
            if which == str(block.index + 1):
                return block
        self._say(f"Which block? e and its number: {', '.join(f'e {block.index + 1}' for block in blocks)}.")
        return None

    async def _page(self, question: Question) -> bool:
        """Show the asked blocks whole. Says whether the end was reached."""
        parts: list[RenderableType] = []
        for block in asked_blocks(question):
            parts += [rule(f"{one_line(block.language)}, block {block.index + 1}, whole"), *whole_block(block)]
        return await page(self._screen.console, [*parts, rule("end")], self._line)

    # -- a denial ------------------------------------------------------------------------------------------------

    async def _override(self, question: Question) -> Answer:
        """Show the whole code, then take only the digest's first characters for a yes."""
        self._show(*view(question))
        shown_whole = await self._page(question)
        blocks = asked_blocks(question)
        answers = [await self._confirmed(block, question, shown_whole) for block in blocks]
        return answers[0] if len(answers) == 1 else Answer("each", each=tuple(answers))

    async def _confirmed(self, block: AskedBlock, question: Question, shown_whole: bool) -> Answer:
        digest = Text(f"The digest is {block.digest}\n", style="faint")
        digest.append(f"Only its first {DIGEST_SHOWN} characters run block {block.index + 1}, once. Else:")
        help_ = Group(digest, _help(("n", "no, n why"), ("v", "view whole")))
        self._show(help_)
        while True:
            word, rest = await self._reply("override? › ", help_)
            if word in _NO:
                return Answer("no", text=rest)
            if word in ("v", "view"):
                shown_whole = await self._page(question) or shown_whole
            elif word == block.digest[:DIGEST_SHOWN] and not rest:
                if shown_whole:
                    return Answer("yes", confirm=word, shown_whole=True)
                self._say("The whole code has not been on the screen: v shows it, to its end.")
            else:
                self._not_understood(word, rest, help_)

    # -- the others ----------------------------------------------------------------------------------------------

    async def _grant(self, question: Question) -> Answer:
        """A yes runs the blocks, too: so they are shown as at a run question."""
        self._show(*view(question))
        return await self._yes_or_no("grant? › ", question)

    async def _words(self, question: Question) -> Answer:
        for block in question.blocks:
            self._show(*reasons(block))
        self._show(Text(one_line(question.text), style="bold"))
        while True:
            text = await self._line("you › ", words=True)
            if command := parse_command(text):
                await self._on_command(*command)
            elif text:
                return Answer("text", text=text)


class _Keys:
    """The answers that a question takes."""

    def __init__(self, question: Question) -> None:
        self._options = set(question.options) or {"yes", "no", "edit", "always"}
        self._diff = any(block.previous for block in question.blocks)

    def allows(self, decision: str) -> bool:
        """Whether the question takes this decision."""
        return decision in self._options

    def help(self) -> Keys:
        """What can be typed."""
        words = [
            ("y", "yes", self.allows("yes")),
            ("n", "no, n why", True),
            ("o", "one by one", self.allows("each")),
            ("e", "edit", self.allows("edit")),
            ("v", "view whole", True),
            ("d", "diff", self._diff),
            ("a", "always these bytes", self.allows("always")),
        ]
        return _help(*((key, word) for key, word, there in words if there))


def _help(*words: tuple[str, str]) -> Keys:
    """What can be typed, each with what it means."""
    return Keys([*words, ("/help", "commands")])


def _split(line: str) -> tuple[str, str]:
    word, _, rest = line.partition(" ")
    return word.lower().rstrip(",:"), rest.strip()
