"""The generator's memory stays bounded, keeps the task, and says what it dropped."""

from __future__ import annotations

import json

import pytest
from autogen_core.models import AssistantMessage, LLMMessage, UserMessage

from agents.bounded_context import BoundedContext, BoundedContextConfig


def task(text: str) -> UserMessage:
    return UserMessage(content=text, source="user")


def result(text: str) -> UserMessage:
    return UserMessage(content=text, source="code_executor")


def answer(text: str, thought: str | None = None) -> AssistantMessage:
    return AssistantMessage(content=text, source="code_generator", thought=thought)


async def filled(context: BoundedContext, turns: int) -> BoundedContext:
    await context.add_message(task("the task"))
    for turn in range(turns):
        await context.add_message(answer(f"code {turn}"))
        await context.add_message(result(f"result {turn}"))
    return context


def texts(messages: list[LLMMessage]) -> list[str]:
    return [str(message.content) for message in messages]


async def test_short_conversations_are_kept_whole_and_in_order() -> None:
    context = await filled(BoundedContext(), 2)
    assert texts(await context.get_messages()) == ["the task", "code 0", "result 0", "code 1", "result 1"]


async def test_the_task_and_the_last_turns_survive_and_the_rest_is_accounted_for() -> None:
    context = await filled(BoundedContext(BoundedContextConfig(max_messages=6)), 100)
    kept = texts(await context.get_messages())
    assert kept[0] == "the task"
    assert kept[-1] == "result 99"
    assert "earlier messages are left out" in kept[1]
    assert len(kept) <= 7


async def test_what_is_saved_does_not_grow() -> None:
    ten, many = await filled(BoundedContext(), 12), await filled(BoundedContext(), 400)
    sizes = [len(json.dumps(await context.save_state())) for context in (ten, many)]
    assert sizes[1] < 1.5 * sizes[0]


async def test_the_newest_task_is_pinned_where_it_stands() -> None:
    context = await filled(BoundedContext(BoundedContextConfig(max_messages=6)), 3)
    await context.add_message(task("the second task"))
    await context.add_message(answer("new code"))
    assert texts(await context.get_messages())[-2:] == ["the second task", "new code"]
    for turn in range(20):
        await context.add_message(result(f"late result {turn}"))
    kept = texts(await context.get_messages())
    assert "the second task" in kept
    assert "the task" not in kept


async def test_one_message_too_long_for_the_limit_is_kept_all_the_same() -> None:
    context = BoundedContext(BoundedContextConfig(max_chars=2000))
    await context.add_message(task("t"))
    await context.add_message(answer("a"))
    await context.add_message(result("x" * 5000))
    assert texts(await context.get_messages())[-1] == "x" * 5000


async def test_reasoning_is_not_sent_back() -> None:
    context = BoundedContext()
    await context.add_message(answer("words", thought="secret plan"))
    assert "secret plan" not in json.dumps(await context.save_state())


async def test_shorten_halves_until_nothing_is_left_to_drop() -> None:
    context = await filled(BoundedContext(), 8)
    before = len(await context.get_messages())
    assert context.shorten()
    assert len(await context.get_messages()) < before
    rounds = 0
    while context.shorten():
        rounds += 1
        assert rounds < 10
    assert texts(await context.get_messages())[0] == "the task"


async def test_state_comes_back() -> None:
    context = await filled(BoundedContext(BoundedContextConfig(max_messages=6)), 9)
    other = BoundedContext()
    await other.load_state(json.loads(json.dumps(await context.save_state())))
    assert await other.get_messages() == await context.get_messages()


def test_dumped_and_loaded_it_is_still_ours() -> None:
    loaded = BoundedContext.load_component(BoundedContext(BoundedContextConfig(max_messages=7)).dump_component())
    assert type(loaded) is BoundedContext
    assert loaded.dump_component().config["max_messages"] == 7


@pytest.mark.parametrize("limits", [{"max_messages": 3}, {"max_chars": 10}, {"other": 1}])
def test_limits_out_of_range_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(limits))):
        BoundedContextConfig.model_validate(limits)
