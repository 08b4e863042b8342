"""The IPython shell of a kernel: plain text on the standard streams, pictures as files, no prompt, no history."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, NoReturn

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from sandbox.inside.kernel_pictures import Pictures, PlotHook, as_png
from sandbox.inside.kernel_text import as_text


class _Results(DisplayHook):
    """Shows the value of a block's last expression."""

    shell: Shell

    def write_output_prompt(self) -> None:
        """No `Out[1]:`; the output is a program's."""

    def write_format_data(self, format_dict: Mapping[str, Any], md_dict: Any = None) -> None:
        self.shell.show(format_dict)

    def log_output(self, format_dict: Mapping[str, Any]) -> None:
        """Nothing is kept."""


class _Publisher(DisplayPublisher):
    """Shows what `display` is given."""

    shell: Shell

    def publish(self, data: Mapping[str, Any], *arguments: Any, **options: Any) -> None:
        self.shell.show(data)

    def clear_output(self, wait: bool = False) -> None:
        """What was printed is gone already."""


class Shell(InteractiveShell):
    """IPython without a terminal. One of it lives in a kernel's process."""

    displayhook_class = _Results
    display_pub_class = _Publisher
    # Through the descriptors, live, and not through a terminal of its own.
    system = InteractiveShell.system_raw
    _pictures: ClassVar[Pictures]

    @classmethod
    def make(cls, directory: str) -> Shell:
        """The shell, which writes pictures into this directory."""
        cls._pictures = Pictures(directory)
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.update(colors="nocolor", automagic=False, cache_size=0, display_page=True)
        shell: Shell = cls.instance(config=config)
        for name in ("exit", "quit"):
            shell.user_ns[name] = _leave
        assert shell.display_formatter is not None
        shell.display_formatter.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", as_png)
        sys.meta_path.insert(0, PlotHook(cls._pictures.show))
        warnings.filterwarnings("ignore", message="To exit: use")
        return shell

    def show(self, bundle: Mapping[str, Any]) -> None:
        """Print a result, or save it where it is a picture."""
        if not self._pictures.take(bundle):
            text = as_text(bundle)
            if text:
                sys.stdout.write(text + "\n")

    def transform_cell(self, raw_cell: str) -> str:
        """What is Python runs as it is: only that was judged. Magics are looked for in what is none."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(raw_cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return str(super().transform_cell(raw_cell))  # type: ignore[no-untyped-call]  # IPython is partly typed
        return raw_cell

    def showtraceback(self, *arguments: Any, **options: Any) -> None:
        """Show an error, but for `sys.exit`, which is none, and in one line an interrupt, which must end soon."""
        kind, _, trace = sys.exc_info()
        if kind is KeyboardInterrupt:
            lines = [frame.tb_lineno for frame in _frames(trace) if frame.tb_frame.f_globals is self.user_ns]
            sys.stderr.write(f"KeyboardInterrupt in line {lines[0]}\n" if lines else "KeyboardInterrupt\n")
        elif kind is not SystemExit:
            super().showtraceback(*arguments, **options)

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        sys.stderr.write(self.InteractiveTB.stb2text(stb) + "\n")

    def enable_gui(self, gui: str | None = None) -> None:
        """There is no screen."""

    def run(self, source: str, number: int) -> BaseException | None:
        """Run a block; returns what ended it."""
        self.execution_count = number
        try:
            result = self.run_cell(source)  # type: ignore[no-untyped-call]  # IPython is partly typed
        finally:
            self._pictures.flush()
        error: BaseException | None = result.error_before_exec or result.error_in_exec
        return error


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _leave(code: object = None) -> NoReturn:
    """End the block; the kernel lives on."""
    raise SystemExit(code)
