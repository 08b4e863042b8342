"""What a block needs beyond the sandbox becomes a question of its own: packages, and a network for one block."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.executor import DockerExecutor
from sandbox.fake import FakeSandbox, Scripted
from sandbox.policy import load_policy
from sessions.audit import audit
from sessions.events import ApprovalEvent, ExecutionEvent, NoticeEvent
from sessions.questions import Answer, Question
from tests.sandbox.wheelhouse import Wheelhouse
from tests.scripted_server import Reply
from tests.teams import table as table_module
from tests.teams.table import APPROVE, NO, YES, failed, ok, python, table, words

DONE = "Done.\n\nSTOP"
COWSAY = python("import cowsay\nprint(cowsay.cow)")
MISSING = failed("Traceback (most recent call last):\nModuleNotFoundError: No module named 'cowsay'\n")
PIP = "```bash\npip install cowsay==6.1\n```\n"
FETCH = python("import urllib.request\nprint(urllib.request.urlopen('http://example.org').read())")
REGISTRY = {"cowsay": "6.1", "reqeusts": "1.0", "alpha": "1", "beta": "2"}

Seat = Callable[[str], dict[str, Path]]


@pytest.fixture
def seat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seat:
    """Give the fake a sandbox.yaml and a registry; returns the settings that name the file."""

    def sandbox_yaml(text: str) -> dict[str, Path]:
        file = tmp_path / "sandbox.yaml"
        file.write_text(text)
        policy = load_policy(file)

        def made(results: list[Scripted], *, work_dir: Path) -> FakeSandbox:
            return FakeSandbox(results, work_dir=work_dir, policy=policy, packages=REGISTRY)

        monkeypatch.setattr(table_module, "FakeSandbox", made)
        return {"sandbox_file": file}

    sandbox_yaml("{}\n")
    return sandbox_yaml


async def test_a_missing_module_is_one_question_and_the_same_bytes_run_again(tmp_path: Path, seat: Seat) -> None:
    async with table(tmp_path, [COWSAY, DONE], results=[MISSING, ok("moo\n")], answers=[YES]) as t:
        stop = await t.conversation.run("x")
        (question,) = t.recorder.questions
        assert (question.kind, stop.reason, t.sandbox.installed) == ("package", "stopped", [("cowsay",)])
        assert "cowsay (its newest version)" in question.text
        assert "once more" in question.text
        assert question.blocks[0].code == t.ran[0] == t.ran[1]
        assert [event.by for event in t.recorder.of(ApprovalEvent)] == ["policy", "human"]
        assert "cowsay 6.1" in t.recorder.of(NoticeEvent)[-1].text
        assert "moo" in t.generator_read


@pytest.mark.parametrize("answer", [NO, words("write it yourself"), Answer("always"), words("")])
async def test_what_is_not_a_yes_installs_nothing_and_the_generator_is_told(
    tmp_path: Path, seat: Seat, answer: Answer
) -> None:
    async with table(tmp_path, [COWSAY, DONE], results=[MISSING], answers=[answer]) as t:
        await t.conversation.run("x")
        assert (len(t.ran), t.sandbox.installed) == (1, [])
        assert "did not grant the package cowsay" in t.generator_read
        assert answer.text in t.generator_read


@pytest.mark.parametrize("settings", [{"human": False}, {"ask": "never"}])
async def test_without_a_human_nothing_is_granted_and_the_generator_is_told(
    tmp_path: Path, seat: Seat, settings: dict[str, object]
) -> None:
    replies = [COWSAY, python("print('moo')"), DONE]
    async with table(tmp_path, replies, results=[MISSING, ok("moo\n")], **settings) as t:  # type: ignore[arg-type]  # either of two
        await t.conversation.run("x")
        assert (t.sandbox.installed, t.recorder.asked) == ([], [])
        assert any("would need a human's yes" in request.last for request in t.server.to_generator)


async def test_the_input_that_ends_at_the_question_grants_nothing(tmp_path: Path, seat: Seat) -> None:
    async with table(tmp_path, [COWSAY], results=[MISSING]) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, t.sandbox.installed, len(t.ran)) == ("interrupted", [], 1)


async def test_a_package_without_a_wheel_is_a_result(tmp_path: Path, seat: Seat) -> None:
    missing = failed("ModuleNotFoundError: No module named 'no_such_parser'\n")
    async with table(tmp_path, [COWSAY, DONE], results=[missing], answers=[YES]) as t:
        await t.conversation.run("x")
        assert len(t.ran) == 1
        assert "no wheel of no-such-parser" in t.generator_read


@pytest.mark.parametrize("module", ["tkinter", "_hidden", "own", "folder.part", "numpy.nothing"])
async def test_what_no_package_brings_is_not_asked_for(tmp_path: Path, seat: Seat, module: str) -> None:
    error = failed(f"ModuleNotFoundError: No module named '{module}'\n")
    async with table(tmp_path, [COWSAY, DONE], results=[error], answers=[YES]) as t:
        (tmp_path / "work" / "folder").mkdir(parents=True)
        (tmp_path / "work" / "own.py").write_text("")
        await t.conversation.run("x")
        assert (t.recorder.asked, len(t.ran)) == ([], 1)


async def test_a_block_that_lacks_one_package_after_the_other_is_asked_about_five_times_at_most(
    tmp_path: Path, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        monkeypatch.setitem(REGISTRY, f"p{number}", "1")
    errors = [failed(f"ModuleNotFoundError: No module named 'p{number}'\n") for number in range(6)]
    async with table(tmp_path, [COWSAY, DONE], results=errors, answers=[YES] * 9) as t:
        await t.conversation.run("x")
        assert (t.recorder.asked, len(t.ran)) == (["package"] * 5, 6)


async def test_a_granted_package_resets_the_counters(tmp_path: Path, seat: Seat) -> None:
    replies = [python("1/0"), COWSAY, python("1/0 "), DONE]
    results = [failed("a\n"), MISSING, failed("b\n"), failed("c\n")]
    async with table(tmp_path, replies, results=results, answers=[YES], retries=1) as t:
        stop = await t.conversation.run("x")
        # Without the grant the second failure in a row would have been one too many.
        assert (stop.reason, t.recorder.asked) == ("interrupted", ["package", "stuck"])
        assert len(t.ran) == 4


@pytest.mark.parametrize("answer", [YES, APPROVE])
async def test_an_install_line_is_asked_about_once_with_its_version(tmp_path: Path, seat: Seat, answer: Answer) -> None:
    async with table(tmp_path, [PIP, DONE], results=[ok("already\n")], answers=[answer]) as t:
        await t.conversation.run("x")
        (question,) = t.recorder.questions
        assert (question.kind, question.details["packages"]) == ("package", ["cowsay==6.1"])
        assert t.sandbox.installed == [("cowsay==6.1",)]
        assert t.ran == ["pip install cowsay==6.1\n"]
        assert [event.by for event in t.recorder.of(ApprovalEvent)] == ["human"]


async def test_two_blocks_that_need_the_same_package_are_asked_about_once(tmp_path: Path, seat: Seat) -> None:
    async with table(tmp_path, [PIP + PIP, DONE], results=[ok(), ok()], answers=[YES]) as t:
        await t.conversation.run("x")
        assert (t.recorder.asked, len(t.ran), len(t.sandbox.installed)) == (["package"], 2, 1)


async def test_an_install_line_that_is_refused_does_not_run(tmp_path: Path, seat: Seat) -> None:
    async with table(tmp_path, [PIP, DONE], answers=[Answer("no", text="use the standard library")]) as t:
        await t.conversation.run("x")
        assert (t.ran, t.sandbox.installed) == ([], [])
        assert "use the standard library" in t.generator_read


async def test_an_install_that_fails_runs_nothing(tmp_path: Path, seat: Seat) -> None:
    pip = "```bash\npip install nothing-of-that-name\n```\n"
    async with table(tmp_path, [pip, DONE], answers=[YES]) as t:
        await t.conversation.run("x")
        assert t.ran == []
        assert "was not run: There is no wheel" in t.generator_read


async def test_what_the_image_has_is_not_asked_for(tmp_path: Path, seat: Seat) -> None:
    pip = "```bash\npip install -q numpy 'pandas>=1' matplotlib\n```\n"
    async with table(tmp_path, [pip, DONE], results=[ok("already\n")]) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, t.recorder.asked, len(t.ran), t.sandbox.installed) == ("stopped", [], 1, [])
        assert "needs no new package: nothing is asked" in t.recorder.of(NoticeEvent)[-1].text
        assert [entry.problems for entry in audit(t.store, t.conversation.session)] == [()]


async def test_a_name_one_edit_away_from_a_well_known_one_is_flagged(tmp_path: Path, seat: Seat) -> None:
    pip = "```bash\npip install reqeusts\n```\n"
    async with table(tmp_path, [pip, DONE], answers=[NO]) as t:
        await t.conversation.run("x")
        assert "one edit away from the well-known requests" in t.recorder.questions[0].text


@pytest.mark.parametrize(
    "line", ["pip install git+https://example.org/x", "pip install -r wanted.txt", "pip install -e .", "npm install x"]
)
async def test_what_is_no_name_of_a_package_is_a_run_question_as_before(tmp_path: Path, seat: Seat, line: str) -> None:
    async with table(tmp_path, [f"```bash\n{line}\n```\n", DONE, DONE], answers=[NO]) as t:
        await t.conversation.run("x")
        assert "package" not in t.recorder.asked
        assert t.ran == []


async def test_something_else_that_is_risky_is_asked_about_too(tmp_path: Path, seat: Seat) -> None:
    pip = "```bash\npip install cowsay\ncat ~/.profile\nprintenv\n```\n"
    async with table(tmp_path, [pip, DONE], answers=[YES, NO]) as t:
        await t.conversation.run("x")
        assert (t.ran, t.sandbox.installed, t.recorder.asked) == ([], [], ["package", "run"])


async def test_a_denied_block_is_not_asked_about_its_packages(tmp_path: Path, seat: Seat) -> None:
    deny = Reply(verdict="deny", reason="No.")
    async with table(tmp_path, [PIP, deny, DONE], answers=[YES]) as t:
        await t.conversation.run("x")
        assert (t.ran, t.recorder.asked) == ([], [])


async def test_what_sandbox_yaml_allows_is_not_asked_for(tmp_path: Path, seat: Seat) -> None:
    settings = seat("packages: {allow: [Cowsay]}\n")
    async with table(tmp_path, [PIP, DONE], results=[ok()], **settings) as t:  # type: ignore[arg-type]  # a setting
        await t.conversation.run("x")
        assert (t.recorder.asked, len(t.ran), t.sandbox.installed) == ([], 1, [("cowsay==6.1",)])
        assert [event.by for event in t.recorder.of(ApprovalEvent)] == ["policy"]
        assert [entry.problems for entry in audit(t.store, t.conversation.session)] == [()]


async def test_the_imports_that_are_allowed_are_there_before_the_first_run(tmp_path: Path, seat: Seat) -> None:
    settings = seat("packages: {allow: [cowsay]}\n")
    async with table(tmp_path, [COWSAY, DONE], results=[ok("moo\n")], human=False, **settings) as t:  # type: ignore[arg-type]  # a setting
        await t.conversation.run("x")
        assert (len(t.ran), t.sandbox.installed) == (1, [("cowsay",)])


async def test_an_import_that_could_not_be_foreseen_never_runs_a_block_twice_without_a_human(
    tmp_path: Path, seat: Seat
) -> None:
    settings = seat("packages: {allow: [cowsay]}\n")
    hidden = "```bash\npython3 -c 'import cowsay'\n```\n"
    async with table(tmp_path, [hidden, DONE], results=[MISSING], **settings) as t:  # type: ignore[arg-type]  # a setting
        await t.conversation.run("x")
        assert (len(t.ran), t.recorder.asked, t.sandbox.installed) == (1, [], [("cowsay",)])
        assert "is installed now: send the block again" in t.generator_read


@pytest.mark.parametrize(
    "code",
    [
        "import cowsay",
        "import cowsay.main as c",
        "from cowsay import cow",
        "__import__('cowsay')",
        "import importlib\nimportlib.import_module('cow' + 'say')",
        "exec('import cowsay')",
        "import subprocess\nsubprocess.run(['python3', '-c', 'import cowsay'])",
    ],
)
async def test_a_module_that_sandbox_yaml_forbids_is_denied(tmp_path: Path, seat: Seat, code: str) -> None:
    settings = seat("packages: {forbid: [cowsay]}\n")
    async with table(tmp_path, [python(code), DONE], **settings) as t:  # type: ignore[arg-type]  # a setting
        await t.conversation.run("x")
        assert (t.ran, t.recorder.asked) == ([], [])
        assert "sandbox.yaml forbids" in t.generator_read


async def test_a_network_is_granted_for_one_block(tmp_path: Path, seat: Seat) -> None:
    settings = seat("network: ask\n")
    replies = [FETCH, python("print(1)"), DONE]
    async with table(tmp_path, replies, results=[ok("page\n"), ok("1\n")], answers=[YES], **settings) as t:  # type: ignore[arg-type]  # a setting
        await t.conversation.run("x")
        (question,) = t.recorder.questions
        assert (question.kind, question.blocks[0].code) == ("network", t.ran[0])
        assert t.sandbox.with_network == t.ran[:1]
        assert [event.by for event in t.recorder.of(ApprovalEvent)] == ["human", "policy"]


@pytest.mark.parametrize("settings", [{"answers": [NO]}, {"human": False}, {"ask": "never"}])
async def test_a_network_that_is_not_granted(tmp_path: Path, seat: Seat, settings: dict[str, object]) -> None:
    file = seat("network: ask\n")
    async with table(tmp_path, [FETCH, DONE], **settings, **file) as t:  # type: ignore[arg-type]  # one of three
        await t.conversation.run("x")
        assert (t.ran, t.sandbox.with_network) == ([], [])


async def test_every_block_that_needs_a_network_is_asked_about_anew(tmp_path: Path, seat: Seat) -> None:
    settings = seat("network: ask\n")
    replies = [FETCH, FETCH.replace("read()", "read(10)"), DONE]
    async with table(tmp_path, replies, results=[ok("page\n")], answers=[YES, NO], **settings) as t:  # type: ignore[arg-type]  # a setting
        await t.conversation.run("x")
        assert t.recorder.asked == ["network", "network"]
        assert len(t.sandbox.with_network) == 1


async def test_a_network_and_a_package_are_two_questions(tmp_path: Path, seat: Seat) -> None:
    settings = seat("network: ask\n")
    both = "```bash\npip install cowsay\ncurl -s http://example.org\n```\n"
    async with table(tmp_path, [both, DONE], results=[ok()], answers=[YES, YES], **settings) as t:  # type: ignore[arg-type]  # a setting
        await t.conversation.run("x")
        assert t.recorder.asked == ["network", "package"]
        assert (len(t.sandbox.with_network), t.sandbox.installed) == (1, [("cowsay",)])


async def test_without_network_nobody_is_asked_for_one(tmp_path: Path, seat: Seat) -> None:
    async with table(tmp_path, [FETCH, DONE], answers=[YES]) as t:
        await t.conversation.run("x")
        assert (t.ran, t.recorder.asked) == ([], [])


async def test_what_the_reviewers_model_doubts_is_asked_though_the_packages_are_there(
    tmp_path: Path, seat: Seat
) -> None:
    pip = "```bash\npip install -q numpy\ncat *.csv > all.txt\n```\n"
    doubt = Reply(verdict="ask", reason="It gathers every table.")
    async with table(tmp_path, [pip, doubt, DONE], answers=[NO]) as t:
        await t.conversation.run("x")
        assert (t.ran, t.recorder.asked) == ([], ["run"])
        assert "It gathers every table." in t.recorder.questions[0].blocks[0].reason


async def test_a_package_is_no_way_to_run_denied_code_once_more(tmp_path: Path, seat: Seat) -> None:
    def override(question: Question) -> Answer:
        return Answer("yes", confirm=question.blocks[0].digest[:6], shown_whole=True)

    deny = Reply(verdict="deny", reason="No business here.")
    answers: list[Answer | Callable[[Question], Answer]] = [override, APPROVE, APPROVE]
    async with table(tmp_path, [COWSAY, deny, DONE], ask="always", results=[MISSING, ok()], answers=answers) as t:
        await t.conversation.run("x")
        assert (len(t.ran), t.recorder.asked[:2], t.sandbox.installed) == (1, ["override", "feedback"], [])


# -- on the real sandbox


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Path]]:
    """Put the Docker sandbox in the fake's place, with one wheel in its registry; returns the settings."""
    house = Wheelhouse(tmp_path / "house")
    house.wheel("cowsay", {"cowsay.py": "cow = 'moo from a wheel'\n"}, "6.1")
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr("sandbox.docker_sandbox.cache_dir", lambda: tmp_path / "cache")

    def sandbox_yaml(text: str) -> dict[str, Path]:
        file = tmp_path / "sandbox.yaml"
        file.write_text(text)
        policy = load_policy(file)

        def made(results: list[Scripted], *, work_dir: Path) -> DockerExecutor:
            return DockerExecutor(policy=policy, environ=house.environ, work_dir=work_dir)

        monkeypatch.setattr(table_module, "FakeSandbox", made)
        return {"sandbox_file": file}

    return sandbox_yaml


@pytest.mark.docker
@pytest.mark.parametrize(
    ("message", "by"),
    [
        (COWSAY, ["policy", "human"]),
        (PIP + COWSAY, ["human", "policy"]),
        (python("%pip install cowsay\nimport cowsay\nprint(cowsay.cow)"), ["human"]),
    ],
    ids=["missing module", "pip line in another block", "pip line of a notebook"],
)
async def test_a_package_comes_after_one_question(
    tmp_path: Path, real: Callable[[str], dict[str, Path]], message: str, by: list[str]
) -> None:
    settings = real("network: none\n")
    async with table(tmp_path, [message, DONE], answers=[YES], **settings) as t:  # type: ignore[arg-type]  # a setting
        stop = await t.conversation.run("x")
        assert (stop.reason, t.recorder.asked) == ("stopped", ["package"])
        last = t.recorder.of(ExecutionEvent)[-1]
        assert (last.exit_code, "moo from a wheel" in last.output) == (0, True)
        assert [event.by for event in t.recorder.of(ApprovalEvent)] == by


@pytest.mark.docker
async def test_a_granted_network_is_there_for_that_block_alone(
    tmp_path: Path, real: Callable[[str], dict[str, Path]]
) -> None:
    settings = real("network: ask\n")
    interfaces = "print([name for _, name in socket.if_nameindex()])"
    asked = python(f"import socket\n{interfaces}\nsocket.create_server(('', 0)).close()")
    plain = python(f"import socket\n{interfaces}")
    async with table(tmp_path, [asked, plain, DONE], answers=[YES], **settings) as t:  # type: ignore[arg-type]  # a setting
        await t.conversation.run("x")
        assert t.recorder.asked == ["network"]
        assert [event.output for event in t.recorder.of(ExecutionEvent)] == ["['lo', 'eth0']\n", "['lo']\n"]
