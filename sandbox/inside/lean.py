"""What the supervisor takes from contextlib, json, signal, socket, hashlib and hmac, without what those load.

Its start is part of each sandbox's, and every block's process begins as a copy of it: with those modules the imports
took 20 ms instead of 3, and twice the memory. The private modules are CPython's own halves of the public ones, which
serve where one of them is missing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Callable
    from hashlib import blake2b
    from hmac import compare_digest
    from json.encoder import encode_basestring_ascii
    from typing import Any
else:
    try:
        import _signal as signal
        import _socket as socket
        from _blake2 import blake2b
        from _json import encode_basestring_ascii
        from _operator import _compare_digest as compare_digest
    except ImportError:
        import signal
        import socket
        from hashlib import blake2b
        from hmac import compare_digest
        from json.encoder import encode_basestring_ascii

__all__ = ["blake2b", "compare_digest", "dumps", "loads", "signal", "socket", "suppress"]


class suppress:
    """Leave the block without an error where one of these kinds is raised in it."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


def dumps(value: Any) -> str:
    """JSON of None, booleans, finite numbers, texts, lists, tuples, and dictionaries whose keys are texts, in ASCII.

    Raises `TypeError` for anything else.
    """
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None or value is True or value is False:
        return _WORDS[value]
    if isinstance(value, (int, float)):
        return value.__repr__()
    if isinstance(value, (list, tuple)):
        return f"[{','.join([dumps(item) for item in value])}]"
    if isinstance(value, dict):
        pairs = [f"{encode_basestring_ascii(name)}:{dumps(item)}" for name, item in value.items()]
        return "{" + ",".join(pairs) + "}"
    raise TypeError(f"{type(value).__name__} is not for JSON")


_WORDS = {None: "null", True: "true", False: "false"}


class _Rules:
    """What json's scanner wants to be told."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        from _json import make_scanner

        scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_Rules)  # type: ignore[arg-type]
        if scan('{"a": [1.5]}', 0) == ({"a": [1.5]}, 12):
            return scan
    except (ImportError, TypeError, AttributeError):
        pass
    import json

    return json.JSONDecoder().raw_decode


_scan = _scanner()


def loads(text: str) -> Any:
    """What a JSON text without white space around it says. Raises `ValueError`."""
    try:
        value, end = _scan(text, 0)
    except (StopIteration, RecursionError):
        end = -1
    if end != len(text):
        raise ValueError("not JSON")
    return value
