"""What a fence's info string names: a language that can be run, data, or something else."""

from __future__ import annotations

import re
from collections.abc import Mapping

from markdown_it.common.utils import unescapeAll

_DATA = """
text txt plain plaintext plain-text none nohighlight no-highlight raw ascii ansi
output out stdout stderr stdin result results input console terminal tty log logs error traceback pytb
pycon python-console python-repl doctest shell-session shellsession sh-session console-session
json json5 jsonc jsonl jsonlines ndjson geojson yaml yml toml ini cfg conf config properties env dotenv
csv tsv table xml xsd svg html htm xhtml css scss sass less
diff patch udiff markdown md mdx rst restructuredtext asciidoc adoc latex tex bibtex bib
mermaid dot graphviz plantuml puml tree math
http url requirements requirements.txt pip-requirements gitignore gitattributes editorconfig
dockerfile docker containerfile makefile make cmake nginx apache hcl terraform proto protobuf graphql
regex regexp ebnf bnf abnf pseudocode pseudo example prompt quote note
"""

DATA_NAMES = frozenset(_DATA.split())
"""Names, in lower case, of fences that show something and are never meant to run here."""

_WORD = re.compile(r"[\s{]*([^\s{}\[\](),:;=]+)")
_PYTHON_3 = re.compile(r"(?:python|py)3(?:\.\d+)*")
_LONGEST_NAME = 40


def fence_name(info: str) -> str:
    """First word of an info string, in lower case: `python` of `Python title="x"`, `{.python}` and `python:main.py`.

    Backslash escapes and character references are resolved as CommonMark says. Empty where the string is.
    """
    info = unescapeAll(info[:1000]).strip()
    match = _WORD.match(info)
    name = match.group(1).lower() if match is not None else info
    return name.removeprefix(".").removeprefix("language-").removeprefix("lang-") or name


def language_of(name: str, languages: Mapping[str, str]) -> str:
    """Canonical name of a language that can be run, by a fence's name; empty where it is none of `languages`.

    A Python 3 version (`python3.12`) is Python where `languages` knows `python`.
    """
    if name in languages:
        return languages[name]
    return languages.get("python", "") if _PYTHON_3.fullmatch(name) else ""


def named(name: str) -> str:
    """A fence's name as it may be repeated to a model or a human: printable and short."""
    shown = "".join(char if char.isprintable() else "?" for char in name[:_LONGEST_NAME])
    return shown + "…" if len(name) > _LONGEST_NAME else shown
