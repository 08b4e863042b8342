"""What is asked of a block of Python before it can stand among others in one interpreter."""

from __future__ import annotations

import ast

_OF_A_PROCESS = {"exit", "_exit", "quit", "fork", "abort", "execv", "execvp", "input"}
_MODULES = {"multiprocessing", "unittest", "doctest", "argparse", "atexit", "signal", "faulthandler"}


def needs_own_process(code: str) -> bool:
    """Whether a block counts on being a program of its own: it ends itself, forks, runs an event loop, reads its name.

    Such a block runs in a process of its own in a notebook and a script, as it did in the sandbox.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(_is_of_a_process(node) for node in ast.walk(tree))


def quoted(code: str) -> str:
    """The code as a literal of Python: in raw quotes where its bytes survive them, so that it can be read."""
    if "'''" in code or code.endswith(("'", "\\")) or "\r" in code or "\0" in code:
        return repr(code)
    return f"r'''{code}'''"


def written(path: str, code: str) -> str:
    """Python that makes the file by whose name a block is known to others."""
    place = f"__import__('pathlib').Path({path!r})"
    return (
        f"{place}.parent.mkdir(parents=True, exist_ok=True)\n"
        f"{place}.write_text({quoted(code)}, encoding='utf-8', newline='')\n"
    )


def _is_of_a_process(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] in _MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        module = (node.module or "").split(".")[0]
        return module in _MODULES or module == "__future__" or _names(node) & {"ProcessPoolExecutor"} != set()
    if isinstance(node, ast.Name):
        return node.id in _OF_A_PROCESS | {"SystemExit", "__file__", "ProcessPoolExecutor"}
    if isinstance(node, ast.Attribute):
        is_loop = isinstance(node.value, ast.Name) and node.value.id == "asyncio" and node.attr == "run"
        return node.attr in _OF_A_PROCESS | {"ProcessPoolExecutor", "run_until_complete"} or is_loop
    return False


def _names(node: ast.ImportFrom) -> set[str]:
    return {alias.name for alias in node.names}
