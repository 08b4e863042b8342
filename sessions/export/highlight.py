"""Code in colours and words of a model as HTML, with everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from sessions.export.words import visible

_LONGEST = 200_000
"""Characters of code that are coloured; longer code stays plain, since colouring it takes seconds."""


def code_html(code: str, language: str) -> str:
    """A block of code. An unknown language stays plain."""
    code = visible(code)
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False, ensurenl=False)
        inner = escape(code) if len(code) > _LONGEST else highlight(code, lexer, _formatter("default"))
    except ClassNotFound:
        inner = escape(code)
    return f'<pre class="code" tabindex="0"><code>{inner}</code></pre>\n'


def words_html(text: str) -> str:
    """Markdown as HTML. No raw HTML, no pictures (they would be fetched from elsewhere), links without a referrer."""
    return str(_markdown().render(visible(text)))


def code_styles() -> str:
    """The colours of code, for a light and for a dark page."""
    light, dark = (str(_formatter(style).get_style_defs(".code")) for style in ("default", "github-dark"))  # type: ignore[no-untyped-call]  # the stubs leave it open
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


@lru_cache
def _formatter(style: str) -> HtmlFormatter[str]:
    return HtmlFormatter(style=style, nowrap=True, nobackground=True)


@lru_cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    rules: dict[str, Any] = parser.renderer.rules  # type: ignore[attr-defined]  # typed as a protocol without it
    rules["fence"] = _fence
    rules["code_block"] = _fence
    rules["link_open"] = _link
    return parser


def _fence(tokens: Sequence[Token], at: int, options: Any, environment: Any) -> str:
    info = tokens[at].info.split()
    return code_html(tokens[at].content, info[0] if info else "")


def _link(tokens: Sequence[Token], at: int, options: Any, environment: Any) -> str:
    address = str(tokens[at].attrs.get("href", ""))
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow" title="{escape(address)}">'
