"""The static rules: what a block would touch, read without running it."""

from __future__ import annotations

import ast
import warnings

from safety.verdicts import Finding, Verdict, worst

MAX_BYTES = 48 * 1024
"""Larger blocks are not analysed: `ask`."""


def review(language: str, code: str) -> tuple[Verdict, tuple[Finding, ...]]:
    """The verdict of the rules on one block, and the findings behind it. Never raises."""
    findings: tuple[Finding, ...] = ()
    if len(code.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        findings = (Finding(rule="reading.too-long", verdict="ask", message="longer than 48 KB: not analysed"),)
    elif language == "python":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            findings = (Finding(rule="reading.broken", verdict="ask", message="does not parse as Python"),)
    elif language not in ("bash", "sh"):
        findings = (Finding(rule="reading.language", verdict="ask", message=f"{language}: not analysed"),)
    return worst(f.verdict for f in findings) if findings else "allow", findings
