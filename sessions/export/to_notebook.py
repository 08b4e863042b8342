"""A notebook: the blocks that ran well, in order, with the output and the pictures that they had."""

from __future__ import annotations

import base64
from typing import Any

from sessions.events import MessageEvent, StopEvent, TaskEvent
from sessions.export.python_code import needs_own_process, written
from sessions.export.story import Run, Story
from sessions.export.words import BY, ending, is_account, stop_of, visible

_SETUP = """\
# As in the sandbox: a block prints what it prints and shows nothing else, and plots go to files.
import base64, os, pathlib, sys
os.environ["MPLBACKEND"] = "agg"
sys.argv[:] = ["block.py"]
get_ipython().ast_node_interactivity = "none"
"""

_SHOW_PICTURE = {
    "image/svg+xml": "from IPython.display import SVG, display\ndisplay(SVG(filename={path!r}))",
    "": "from IPython.display import Image, display\ndisplay(Image(filename={path!r}))",
}


def render(story: Story) -> str:
    """The notebook as JSON, format 4.5. It runs from top to bottom where the packages of the sandbox are there.

    A block that failed, was cut off or lost a secret is told in words, since it would not run.
    """
    import nbformat
    from nbformat import v4

    cells = [_words(f"# {_title(story)}"), _code(_setup(story), [])]
    for step in story.steps:
        if isinstance(step, TaskEvent):
            cells.append(_words("**Task:** " + visible(step.text)))
        elif isinstance(step, MessageEvent) and not is_account(step):
            cells.append(_words(_prose(step)))
        elif isinstance(step, Run):
            cells += _run(step)
        elif isinstance(step, StopEvent):
            cells.append(_words(f"*{visible(stop_of(step))}*"))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    notebook = v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"  # type: ignore[no-untyped-call]


def _title(story: Story) -> str:
    return " ".join(visible(story.info.task).split())[:120] or f"Session {story.info.id}"


def _setup(story: Story) -> str:
    lines = [_SETUP]
    if story.inputs:
        lines.append("# Files that the session began with, where they are not here yet.\n")
    for file, data in story.inputs:
        place = f"pathlib.Path({file.path!r})"
        lines.append(
            f"if not {place}.exists():\n    {place}.parent.mkdir(parents=True, exist_ok=True)\n"
            f"    {place}.write_bytes(base64.b64decode({base64.b64encode(data).decode()!r}))\n"
        )
    if story.inputs_missing:
        lines.append(f"# To be put beside this notebook: {', '.join(story.inputs_missing)!r}\n")
    return "".join(lines)


def _words(text: str) -> Any:
    from nbformat import v4

    return v4.new_markdown_cell(text)  # type: ignore[no-untyped-call]


def _code(source: str, outputs: list[Any]) -> Any:
    from nbformat import v4

    return v4.new_code_cell(source, outputs=outputs)  # type: ignore[no-untyped-call]


def _prose(message: MessageEvent) -> str:
    """The words of a message. Its blocks stand in it as they were proposed; the cells hold what ran."""
    text = visible(message.text)
    return text if not message.blocks else f"{text}\n\n*The cells below hold what ran of it.*"


def _run(run: Run) -> list[Any]:
    from nbformat import v4

    note = f"*Block {run.index + 1}, {run.language}: {BY[run.by]}; {ending(run)}.*"
    if run.exit_code != 0 or run.redacted or not run.by:
        why = "A secret in it was replaced by a mark." if run.redacted else "It did not end well, so it is no cell."
        fence = "`" * 8
        output = "".join(text for _, text in run.pieces)
        parts = [note, why, f"{fence}{run.language}\n{visible(run.code)}\n{fence}"]
        parts += [f"{fence}text\n{visible(output)}\n{fence}"] if output else []
        return [_words("\n\n".join(parts)), *_kept(run)]
    outputs = [
        v4.new_output("stream", name=stream, text=text)  # type: ignore[no-untyped-call]
        for stream, text in run.pieces
    ]
    cells = [_words(note), *_kept(run), _code(_source(run), outputs)]
    for picture in run.pictures:
        data: str = base64.b64encode(picture.data).decode()
        if picture.media_type == "image/svg+xml":
            data = picture.data.decode("utf-8", "replace")
        elif picture.media_type == "image/webp":
            continue
        shown = v4.new_output("display_data", data={picture.media_type: data})  # type: ignore[no-untyped-call]
        source = _SHOW_PICTURE.get(picture.media_type, _SHOW_PICTURE[""]).format(path=picture.path)
        cells.append(_code(source, [shown]))
    return cells


def _kept(run: Run) -> list[Any]:
    """The file by whose name later blocks may know this one, also where it failed."""
    return [_code(written(run.kept_as, run.code), [])] if run.kept_as and run.by else []


def _source(run: Run) -> str:
    """The cell of a block: Python in the notebook's own interpreter where it can, else in a process of its own."""
    if run.language == "python":
        return f"%%python\n{run.code}" if needs_own_process(run.code) else run.code
    if run.language in ("bash", "sh", "perl", "ruby"):
        return f"%%{run.language}\n{run.code}"
    if run.language == "javascript":
        return f"%%script node\n{run.code}"
    programs = {"php": "php", "lua": "lua -", "r": "Rscript --vanilla -"}
    if run.language in programs:
        return f"%%script {programs[run.language]}\n{run.code}"
    return _compiled(run)


def _compiled(run: Run) -> str:
    """A language without an interpreter that reads a program from its input: written to a file, built, run."""
    how = {
        "c": ("block.c", "gcc -O1 -o ./block.bin block.c -lm && ./block.bin"),
        "c++": ("block.cpp", "g++ -O1 -o ./block.bin block.cpp && ./block.bin"),
        "go": ("block.go", "go run block.go"),
        "rust": ("block.rs", "rustc -o ./block.bin block.rs && ./block.bin"),
        "java": ("Block.java", "java Block.java"),
        "typescript": ("block.ts", "tsc --target es2022 --module commonjs block.ts && node block.js"),
    }
    name, command = how.get(run.language, (f"block.{run.language}", f"{run.language} block.{run.language}"))
    return (
        "import subprocess\n"
        f"pathlib.Path({name!r}).write_text({run.code!r})\n"
        f"print(subprocess.run({command!r}, shell=True, check=True, stdout=-1, text=True).stdout, end='')"
    )
