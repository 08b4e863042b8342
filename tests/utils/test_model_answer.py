from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from openai.types.chat import ChatCompletionChunk

from utils.model_answer import Answer, MalformedAnswerError


def chunk(delta: dict[str, Any], finish: str | None = None) -> ChatCompletionChunk:
    return ChatCompletionChunk.model_validate(
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
    )


def test_tool_calls_are_put_together_from_their_pieces() -> None:
    answer = Answer()
    for index, name, arguments in ((0, "add", '{"a"'), (0, None, ": 1}"), (1, "sub", "{}")):
        call = {
            "index": index,
            "id": f"id{index}" if name else None,
            "function": {"name": name, "arguments": arguments},
        }
        assert answer.add_chunk(chunk({"tool_calls": [call]})) == ""
    answer.add_chunk(chunk({}, "tool_calls"))
    result = answer.result()
    assert not answer.is_empty
    assert result.finish_reason == "function_calls"
    assert [(c.id, c.name, c.arguments) for c in result.content if not isinstance(c, str)] == [
        ("id0", "add", '{"a": 1}'),
        ("id1", "sub", "{}"),
    ]


def test_words_after_reasoning_close_the_thought_in_the_same_piece() -> None:
    answer = Answer()
    shown = [
        answer.add_chunk(chunk({"reasoning_content": "so "})),
        answer.add_chunk(chunk({"reasoning_content": "far", "content": ""})),
        answer.add_chunk(chunk({"reasoning_content": ".", "content": "Yes"})),
        answer.add_chunk(chunk({"reasoning_content": "", "content": "."}, "stop")),
    ]
    assert shown == ["<think>so ", "far", ".</think>\n\nYes", "."]
    assert (answer.result().thought, answer.result().content) == ("so far.", "Yes.")


def test_a_closing_tag_in_a_reasoning_field_makes_no_words() -> None:
    answer = Answer()
    answer.add_chunk(chunk({"reasoning_content": "a </think>\n```python\nbad()\n```"}))
    answer.add_chunk(chunk({"content": "Words."}, "stop"))
    assert answer.result().content == "Words."


@pytest.mark.parametrize(
    "piece",
    [
        None,
        {},
        chunk({}).model_copy(update={"choices": [None]}),
        chunk({}).model_copy(update={"choices": "ab"}),
        chunk({}, "stop").model_copy(update={"choices": [chunk({}).choices[0].model_copy(update={"delta": 7})]}),
    ],
)
def test_a_piece_of_another_shape_is_malformed(piece: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        Answer().add_chunk(piece)


def test_a_count_that_is_none_is_passed_over() -> None:
    answer = Answer()
    usage = SimpleNamespace(prompt_tokens="many")
    answer.add_chunk(chunk({"content": "x"}, "stop").model_copy(update={"usage": usage}))
    assert (answer.prompt_tokens, answer.result().content) == (0, "x")


@pytest.mark.parametrize("finish", ["stop", "end_turn", "eos", "STOP", "some_new_word"])
def test_a_finish_reason_of_another_dialect_is_whole(finish: str) -> None:
    answer = Answer(words=["x"], finish=finish)
    assert (answer.cut, answer.result().finish_reason) == ("", "stop")


@pytest.mark.parametrize(
    ("finish", "cut"), [("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("", "broken off")]
)
def test_a_cut_in_another_dialect_is_a_cut(finish: str, cut: str) -> None:
    assert Answer(words=["x"], finish=finish).cut == cut
