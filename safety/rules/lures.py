"""Lures: texts that press somebody to hand over a password, money or a click."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Program
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

PHISHING = Rule(
    "people.tricks",
    "ask",
    "nothing",
    "The text presses somebody to hand over a password, money or a click.",
    bad=("m = 'Your account has been suspended. Click the link below to verify your password.'",),
    good=("m = 'Your report is ready.'",),
)
RULES = (PHISHING,)

_FORM = re.compile(
    r"<form[^>]*\baction\s*=\s*[\"']?(?:https?:)?//.{0,600}(?:passw|credit|card|\bcvv|\bssn\b"
    r"|social security|\bpin\b)",
    re.IGNORECASE | re.DOTALL,
)
_HAND_OVER = re.compile(
    r"\b(?:enter|send|confirm|verify|reply with|provide|submit) (?:us |me )?your (?:\w+ )?"
    r"(?:password|pin|card|bank|credentials|account)"
    r"\b.{0,60}(?:https?://|\bto (?:avoid|keep|claim|receive|restore|unlock)\b|\bimmediately\b)",
    re.IGNORECASE | re.DOTALL,
)
_TRICK = (
    re.compile(
        r"\b(?:unusual|suspicious) (?:activity|sign-?in|login)\b"
        r"|\b(?:account|card|mailbox|password)\b.{0,60}\b(?:suspend|lock|limit|expire|compromis|deactivat|block|unusual)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        r"\b(?:verify|confirm|update|validate|provide|enter|send|reply|submit|give|share)\b.{0,40}\b(?:account|password|identity|billing"
        r"|payment|bank|credit card|social security|credential|personal information|login|pin\b|card)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        r"\b(?:click|follow|open|visit)(?:ing)?\b.{0,25}\b(?:link|here|below|attachment|button)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        r"\b(?:you(?:'ve| have)? (?:won|been selected)|claim your|free (?:gift|iphone|money)|lottery"
        r"|inheritance|wire transfer|gift card|bitcoin|urgent(?:ly)?|immediate(?:ly)? action|within 24 hours"
        r"|act now)\b",
        re.IGNORECASE,
    ),
)


def tricks(text: str) -> bool:
    """Whether a text reads like a lure: two of its usual turns together."""
    return (
        bool(_FORM.search(text[:4000]) or _HAND_OVER.search(text[:4000]))
        or sum(1 for pattern in _TRICK if pattern.search(text[:4000])) >= 2
    )


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for node in program.nodes(ast.Constant):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and len(node.value) > 40
            and tricks(node.value)
        ):
            yield PHISHING.at(node.lineno, "a text that presses somebody to hand something over", node.col_offset + 1)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        text = " ".join((*command.args, command.body or ""))
        if len(text) > 40 and tricks(text):
            yield PHISHING.at(command.line, "a text that presses somebody to hand something over", command.column)
