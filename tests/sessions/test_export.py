"""What is taken away: it holds what happened, runs where it should, and nowhere else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from markdown_it import MarkdownIt

from sessions.events import ExecutionEvent, FileInfo, MessageEvent, OutputEvent, StopEvent, TaskEvent, load_event
from sessions.export import SUFFIXES, export
from sessions.export.python_code import needs_own_process
from sessions.export.story import read_story
from sessions.memory_store import MemoryStore
from sessions.sqlite_store import SqliteStore
from sessions.store import Store
from tests.sessions.example import CSV, HOSTILE, SUM, Writer, png, write_example
from utils.errors import ConfigurationError


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    work_dir = tmp_path / "work"
    work_dir.mkdir()
    return work_dir


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(tmp_path / "roundtable.db")
    yield store
    store.close()


@pytest.fixture
def session(store: Store, work_dir: Path) -> str:
    return write_example(store, work_dir)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(cell: dict[str, Any]) -> dict[str, str]:
    """Text by stream: how a kernel cuts it into pieces is its own affair."""
    streams: dict[str, str] = {}
    for output in cell["outputs"]:
        assert output["output_type"] in ("stream", "display_data")
        if output["output_type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + "".join(output["text"])
    return streams


def pictures(cell: dict[str, Any]) -> list[str]:
    return [o["data"]["image/png"].strip() for o in cell["outputs"] if o["output_type"] == "display_data"]


EXECUTE = """
import sys, warnings
warnings.simplefilter("ignore")
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": sys.argv[2]}}).execute()
nbformat.write(notebook, sys.argv[1])
"""


def test_an_executed_notebook_gives_the_same_outputs(store: Store, session: str, tmp_path: Path) -> None:
    text = export(store, session, "notebook")
    path = tmp_path / "it.ipynb"
    path.write_text(text)
    place = tmp_path / "elsewhere"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(path), str(place)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    before, after = code_cells(json.loads(text)), code_cells(json.loads(path.read_text()))
    assert [printed(cell) for cell in after] == [printed(cell) for cell in before]
    assert [pictures(cell) for cell in after] == [pictures(cell) for cell in before]
    assert [printed(cell) for cell in before] == [
        {},
        {"stdout": "total: 7\n"},
        {"stdout": "saved plot.png\n"},
        {},
        {"stdout": "one\ntwo\nsales.csv\n"},
        {"stdout": "from an edited loop\n", "stderr": "and an error line\n"},
    ]
    assert (place / "plot.png").read_bytes() == png()


def test_the_notebook_holds_approved_code_as_it_ran(store: Store, session: str) -> None:
    notebook = nbformat.reads(export(store, session, "notebook"), 4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert cells[1]["source"] == SUM
    assert cells[4]["source"].startswith("%%bash\nfor word")
    assert cells[5]["source"].startswith("%%python\nimport asyncio")
    everything = "".join(cell["source"] for cell in cells)
    assert "create_connection" not in everything, "denied code is no cell"
    assert "1 / 0" not in everything, "nor is code that failed"
    words = "".join(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    assert "ZeroDivisionError" in words
    assert "approved by the human" in words


def test_a_run_without_an_approval_is_no_cell(store: Store, work_dir: Path) -> None:
    session = store.create()
    writer = Writer(store, session, work_dir)
    store.append(session, TaskEvent(source="user", text="t"))
    message = writer.message("x", ("python", "print('unapproved')\n"))
    writer.run(message, message.blocks[0], "policy", (("stdout", "unapproved\n"),), approve=False)
    assert "unapproved" not in str(code_cells(json.loads(export(store, session, "notebook"))))
    assert "\nprint('unapproved')" not in export(store, session, "script")
    for form in ("html", "markdown", "notebook"):
        assert "NO APPROVAL of these bytes is recorded" in export(store, session, form)


def test_the_script_runs(store: Store, session: str, tmp_path: Path) -> None:
    path = tmp_path / "it.py"
    path.write_text(export(store, session, "script"))
    place = tmp_path / "elsewhere"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-I", str(path)], cwd=place, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "total: 7\nsaved plot.png\none\ntwo\nsales.csv\nfrom an edited loop\n"
    assert done.stderr == "and an error line\n"
    assert (place / "plot.png").read_bytes() == png()
    assert (place / "sales.csv").read_bytes() == CSV


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_block_that_keeps_itself_is_there_for_later_ones(
    exit_code: int, store: Store, work_dir: Path, tmp_path: Path
) -> None:
    session = store.create()
    writer = Writer(store, session, work_dir)
    own = "# filename: deep/sums.py\nquote = '''it's'''\n" + "raise SystemExit(1)\n" * exit_code
    (work_dir / "deep").mkdir()
    (work_dir / "deep" / "sums.py").write_text(own)
    reader = 'print(open("deep/sums.py").read(), end="")\n'
    for code, files in ((own, ("deep/sums.py",)), (reader, ())):
        message = writer.message("x", ("python", code))
        text = own if code == reader else ""
        status = exit_code if code == own else 0
        writer.run(message, message.blocks[0], "human", (("stdout", text),), exit_code=status, files=files)
    place = tmp_path / "elsewhere"
    place.mkdir()
    (tmp_path / "it.py").write_text(export(store, session, "script"))
    command = [sys.executable, "-I", str(tmp_path / "it.py")]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == own
    cells = ["".join(cell["source"]) for cell in code_cells(json.loads(export(store, session, "notebook")))]
    (place / "deep" / "sums.py").unlink()
    made = next(source for source in cells if "write_text" in source)
    subprocess.run([sys.executable, "-c", made], cwd=place, timeout=60, check=True)
    assert (place / "deep" / "sums.py").read_text() == own


def test_quotes_of_every_kind_survive_the_script(store: Store, work_dir: Path, tmp_path: Path) -> None:
    session = store.create()
    writer = Writer(store, session, work_dir)
    codes = [
        "echo \"a'b\" '''c''' \\\\ end\\\n",
        "printf '%s' 'tail with quote'",
        "echo 'umlaut ü' # \\'",
        "printf 'a\\r\\n' | od -c | head -1",
    ]
    for code in codes:
        message = writer.message("x", ("bash", code))
        writer.run(message, message.blocks[0], "human", ())
    (tmp_path / "it.py").write_text(export(store, session, "script"))
    done = subprocess.run([sys.executable, str(tmp_path / "it.py")], capture_output=True, timeout=60, check=True)
    expected = b"".join(subprocess.run(["bash", "-c", c], capture_output=True, check=True).stdout for c in codes)
    assert done.stdout == expected


def test_a_task_cannot_break_out_of_a_comment(store: Store, work_dir: Path, tmp_path: Path) -> None:
    session = store.create()
    hostile = "x" + "".join(f"{end}raise SystemExit(9)\n" for end in "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
    store.append(session, TaskEvent(source="user", text=hostile))
    writer = Writer(store, session, work_dir)
    message = writer.message("x", ("python", hostile))
    writer.run(message, message.blocks[0], "human", (), exit_code=3)
    (tmp_path / "it.py").write_text(export(store, session, "script"))
    done = subprocess.run([sys.executable, str(tmp_path / "it.py")], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


class Page(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))


def test_the_page_runs_nothing_and_asks_for_nothing(store: Store, session: str) -> None:
    html = export(store, session, "html")
    page = Page()
    page.feed(html)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "iframe", "object", "embed", "form", "input", "link", "base", "audio", "video", "svg"}
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        assert "style" not in attributes
        if tag == "img":
            assert attributes["src"].startswith("data:image/png;base64,")
        if tag == "a":
            assert attributes["href"] in ("https://example.org", "http://evil.example/p.png"), "not fetched"
            assert attributes["rel"] == "noopener noreferrer nofollow"
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "script" not in policy
    style = html[html.index("<style>") : html.index("</style>")]
    assert not re.search(r"url\(|@import|expression", style)
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "&lt;script&gt;" in html


def test_the_page_holds_what_happened(store: Store, session: str) -> None:
    html = export(store, session, "html")
    assert base64.b64encode(png()).decode() in html
    for words in ("total: 7", "approved by the human", "allowed by the review", "network.socket", "deny", "plot.png"):
        assert words in html, words
    assert "The code that ran, as the human edited it" in html
    assert "The model is gone. Try again." in html


def test_a_picture_that_the_store_lacks_is_taken_from_the_work_folder_if_it_is_the_same(
    store: Store, work_dir: Path
) -> None:
    session = store.create()
    writer = Writer(store, session, work_dir)
    (work_dir / "plot.png").write_bytes(png())
    message = writer.message("x", ("python", "pass\n"))
    digest = hashlib.sha256(png()).hexdigest()
    for path in ("plot.png", "../outside.png"):
        (work_dir / path).write_bytes(png())
        file = FileInfo(path=path, size=len(png()), sha256=digest)
        store.append(
            session,
            ExecutionEvent(
                source="code_executor",
                message=message.id,
                index=0,
                digest="d",
                language="python",
                exit_code=0,
                duration_s=0,
                files=(file,),
            ),
        )
    assert [run.pictures for run in read_story(store, session).runs] == [(), ()], "nobody said where it is"
    store.set_work_dir(session, str(work_dir))
    first, second = read_story(store, session).runs
    assert [picture.data for picture in first.pictures] == [png()]
    assert second.pictures == (), "outside the work folder"
    (work_dir / "plot.png").write_bytes(png()[:-1] + b"x")
    assert read_story(store, session).runs[0].pictures == (), "another picture by now"


def test_a_hostile_picture_and_name_stay_data(store: Store, work_dir: Path) -> None:
    session = store.create()
    writer = Writer(store, session, work_dir)
    name = '"><script>alert(1)</script>.svg'.replace("/", "_")
    (work_dir / name).write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    message = writer.message("x", ("python", "pass\n"))
    from sessions.workspace import Workspace

    Workspace(store, session, work_dir).save()
    writer.run(message, message.blocks[0], "human", (), files=(name,))
    page = Page()
    page.feed(export(store, session, "html"))
    assert "script" not in {tag for tag, _ in page.tags}
    (image,) = [attributes for tag, attributes in page.tags if tag == "img"]
    assert image["src"].startswith("data:image/svg+xml;base64,")
    assert image["alt"] == name


def test_markdown_keeps_its_shape(store: Store, session: str) -> None:
    text = export(store, session, "markdown")
    tokens = MarkdownIt("commonmark").parse(text)
    assert not [token for token in tokens if token.type == "html_block" and "script" in token.content]
    fences = [token.content for token in tokens if token.type == "fence"]
    assert "total: 7\n" in fences
    assert fences.count(SUM) == 2, "as proposed, and as it ran"
    assert "data:image/png;base64," in text


def test_an_unclosed_fence_swallows_nothing(store: Store) -> None:
    session = store.create()
    for text in ("open\n~~~~python\nx = '''```'''\n", "open\n```\n", "`````\n```\n"):
        store.append(session, MessageEvent(source="code_generator", id="m", text=text, unterminated=True))
        store.append(session, StopEvent(source="program", reason="stuck", text="after the fence"))
    tokens = MarkdownIt("commonmark").parse(export(store, session, "markdown"))
    assert len([t for t in tokens if t.type == "inline" and "after the fence" in t.content]) == 3


def test_a_fence_in_an_output_stays_inside(store: Store, work_dir: Path) -> None:
    session = store.create()
    writer = Writer(store, session, work_dir)
    message = writer.message("x", ("bash", "echo\n"))
    output = "````\n# not a heading\n```\n"
    writer.run(message, message.blocks[0], "human", (("stdout", output),))
    for text in (export(store, session, "markdown"),):
        fences = [t.content for t in MarkdownIt("commonmark").parse(text) if t.type == "fence"]
        assert output in fences


def test_json_lines_are_the_events(store: Store, session: str) -> None:
    lines = export(store, session, "jsonl").splitlines()
    assert [load_event(json.loads(line)) for line in lines] == list(store.events(session))


def test_a_run_that_broke_off_is_told(store: Store, work_dir: Path) -> None:
    session = store.create()
    writer = Writer(store, session, work_dir)
    message = writer.message("x", ("python", "while True: print(1)\n"))
    store.append(session, OutputEvent(source="code_executor", message=message.id, stream="stdout", text="1\n"))
    (run,) = read_story(store, session).runs
    assert (run.exit_code, run.language, run.pieces) == (None, "python", (("stdout", "1\n"),))
    for form in ("html", "markdown", "notebook"):
        assert "broken off" in export(store, session, form)


@pytest.mark.parametrize("form", SUFFIXES)
def test_an_empty_session_and_one_of_every_event_can_be_exported(store: Store, session: str, form: str) -> None:
    assert export(store, session, form)
    empty = store.create()
    assert isinstance(export(store, empty, form), str)
    store.append(empty, TaskEvent(source="user", text=HOSTILE * 50 + "\n" * 30))
    assert export(store, empty, form)


def test_an_unknown_form(store: Store, session: str) -> None:
    with pytest.raises(ConfigurationError, match="no export"):
        export(store, session, "pdf")


def test_secrets_are_in_no_export(work_dir: Path) -> None:
    from sessions.redaction import Redactor

    secret = "planted-secret-of-exports"
    store = MemoryStore(redactor=Redactor({"PLANTED_KEY": secret}))
    session = store.create()
    writer = Writer(store, session, work_dir)
    store.append(session, TaskEvent(source="user", text=f"use {secret}"))
    (work_dir / "conf.txt").write_text(secret)
    message = writer.message(f"the key {secret}", ("python", f"key = {secret!r}\nprint(key)\n"))
    writer.run(message, message.blocks[0], "human", (("stdout", secret[:10]), ("stdout", secret[10:] + "\n")))
    for form in SUFFIXES:
        text = export(store, session, form)
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode()[:-4] not in text
        assert "[redacted:PLANTED_KEY]" in text or form == "script"
    assert "print(key)" not in str(code_cells(json.loads(export(store, session, "notebook"))))


@pytest.mark.parametrize(
    ("code", "own"),
    [
        ("print(1)\n", False),
        ("import csv, json\nimport numpy as np\n", False),
        ("exit = 3\n", True),
        ("import sys\nsys.exit()\n", True),
        ("raise SystemExit\n", True),
        ("import asyncio\nasyncio.run(main())\n", True),
        ("from __future__ import annotations\n", True),
        ("import os\nos._exit(0)\n", True),
        ("import unittest\n", True),
        ("print(__file__)\n", True),
        ("if __name__ == '__main__':\n    print(1)\n", False),
        ("x = input()\n", True),
        ("from concurrent.futures import ProcessPoolExecutor\n", True),
        ("def broken(:\n", True),
        ("x = " + "(" * 5000, True),
    ],
)
def test_which_blocks_need_a_process_of_their_own(code: str, own: bool) -> None:
    assert needs_own_process(code) is own
