"""Pictures of a kernel's blocks as files of the workspace: what was displayed, and plots that nothing was done with."""

from __future__ import annotations

import base64
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_ENDINGS = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "application/pdf": ".pdf",
}
_DONE = "_kernel_done"
"""Attribute of a figure that was saved or shown: it needs no file of its own any more."""


class Pictures:
    """Writes pictures under names that are free, and says so in the output."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def take(self, bundle: Mapping[str, Any]) -> bool:
        """Write the first picture of a bundle (MIME type -> data); False where it has none."""
        for kind, ending in _ENDINGS.items():
            if kind in bundle:
                data = bundle[kind]
                if isinstance(data, str):
                    data = data.encode() if kind == "image/svg+xml" else base64.b64decode(data)
                self._write(data, ending)
                return True
        return False

    def _write(self, data: bytes, ending: str) -> None:
        number = 1
        while True:
            name = f"figure_{number}{ending}"
            try:
                with open(os.path.join(self._directory, name), "xb") as file:
                    file.write(data)
                sys.stdout.write(f"[picture: {name}]\n")
                return
            except FileExistsError:
                number += 1
            except OSError as error:
                sys.stderr.write(f"[a picture could not be saved: {error.strerror}]\n")
                return

    def flush(self) -> None:
        """Write every open plot that was neither saved nor shown, and close all."""
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is None:
            return
        for manager in helpers.Gcf.get_all_fig_managers():
            self.show(manager)

    def show(self, manager: Any) -> None:
        """Write a plot that was neither saved nor shown, and close it."""
        figure = manager.canvas.figure
        if not getattr(figure, _DONE, False) and figure.get_axes():
            self._write(as_png(figure), ".png")
        sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(manager)


def as_png(figure: Any) -> bytes:
    """A matplotlib figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


class PlotHook:
    """Waits in `sys.meta_path` for the first import of pyplot, and then makes `show` write a file.

    matplotlib is not imported for a block that does not need it, and the backend stays what a fresh block has: so the
    processes that a block starts find it, too.
    """

    def __init__(self, show: Callable[[Any], None]) -> None:
        self._show = show

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        """Never finds anything; called before each import."""
        if name == "matplotlib.pyplot" and self in sys.meta_path:
            sys.meta_path.remove(self)
            self._change_matplotlib()

    def _change_matplotlib(self) -> None:
        from matplotlib import backend_bases, figure  # type: ignore[import-not-found]  # of the image

        save, show = figure.Figure.savefig, self._show

        def savefig(self: Any, *arguments: Any, **options: Any) -> Any:
            result = save(self, *arguments, **options)
            setattr(self, _DONE, True)
            return result

        figure.Figure.savefig = savefig
        backend_bases.FigureManagerBase.show = lambda manager: show(manager)
