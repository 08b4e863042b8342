"""What the generator reads after the executor's turn: bounded, and plain about what ran and what did not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.run_approval import Ruling
from safety.code_blocks import CodeBlock
from safety.verdicts import BlockReview
from sandbox.base import ExecutionResult, SandboxInfo

OUTPUT_CHARS = 8_000
"""Characters of a block's output that the generator reads; the middle is left out."""
_PLOTS = re.compile(
    r"\.show\(|\b(?:plt|pyplot|pylab)\.(?:plot|bar|barh|hist|scatter|pie|imshow|boxplot|subplots|figure)\("
)
_SAVES = re.compile(r"\b(?:savefig|imsave|write_image|write_html)\b")
_PICTURES = (".png", ".jpg", ".jpeg", ".svg", ".pdf", ".gif", ".webp", ".html")


def ran(block: CodeBlock, result: ExecutionResult, change: str) -> str:
    """Tell how a block ended."""
    parts = [f"Block {block.index + 1} ({block.language}) {_ending(result)} after {result.duration_s:.2f} s."]
    if change:
        parts.append(f"The human edited it before it ran:\n{change}")
    output = shortened(result.output)
    parts.append(f"Output:\n{output.rstrip()}" if output.strip() else "It printed nothing.")
    if result.truncated:
        parts.append("The output was longer than the limit and is cut in the middle.")
    if result.files:
        names = ", ".join(f"{file.path} ({file.change}, {file.size} bytes)" for file in result.files[:20])
        more = f" and {len(result.files) - 20} more" if len(result.files) > 20 else ""
        parts.append(f"Files: {names}{more}.")
    if result.left_behind:
        parts.append(f"Left behind in the sandbox: {'; '.join(result.left_behind[:10])}.")
    parts += result.notes
    return "\n".join(parts)


def unseen_plot(block: CodeBlock, result: ExecutionResult, info: SandboxInfo) -> tuple[str, ...]:
    """A note where a block drew with matplotlib and kept no picture: nobody sees it, and nothing else says so."""
    if block.language != "python" or result.exit_code or info.state or info.runtime.startswith("local"):
        return ()
    if "matplotlib" not in block.code or not _PLOTS.search(block.code) or _SAVES.search(block.code):
        return ()
    if any(file.path.lower().endswith(_PICTURES) for file in result.files):
        return ()
    return ("no picture was saved: a plot is not shown here, plt.savefig('name.png') keeps it as a file",)


def not_run(ruling: Ruling, review: BlockReview | None, after: Sequence[CodeBlock]) -> str:
    """Tell why a block did not run, and which others therefore did not either."""
    block = ruling.block
    if ruling.denied:
        text = f"Block {block.index + 1} ({block.language}) was denied and not run: {ruling.reason}"
        for finding in review.findings[:10] if review is not None else ():
            text += f"\n- line {finding.line}: {finding.message} [{finding.rule}]"
        text += "\nFind another way to do the task, or say why there is none."
    else:
        reason = f": {ruling.reason}" if ruling.reason else ", and gave no reason."
        text = f"The human refused block {block.index + 1} ({block.language}){reason}"
    if ruling.change:
        text += f"\nThe human had edited it:\n{ruling.change}"
    if after:
        text += f"\nNot run because of that: {', '.join(f'block {other.index + 1}' for other in after)}."
    return text


def shortened(output: str) -> str:
    """Keep head and tail of an output."""
    if len(output) <= OUTPUT_CHARS:
        return output
    half = OUTPUT_CHARS // 2
    return f"{output[:half]}\n... ({len(output) - OUTPUT_CHARS} characters left out) ...\n{output[-half:]}"


def _ending(result: ExecutionResult) -> str:
    if result.timed_out:
        return "was stopped at the time limit"
    if result.oom:
        return "ran out of memory and was killed"
    if result.cancelled:
        return "was cancelled"
    if result.signal:
        return f"died by signal {result.signal}"
    if result.exit_code:
        return f"ended with exit code {result.exit_code}"
    return "ran well"
