"""Pure functions whose result can be told when their arguments are known."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import html
import lzma
import posixpath
import string
import urllib.parse
import zlib
from collections.abc import Callable
from typing import Any

from safety.python_values import HOLE, MAX_ITEMS, MAX_TEXT, UNKNOWN, Ref, Table, Value, as_text, is_known, ref, words
from safety.shell_folding import ansi_c

_TEXT_METHODS = words(
    "lower upper strip lstrip rstrip replace join format split rsplit encode decode title capitalize "
    "swapcase zfill removeprefix removesuffix splitlines translate hex partition rpartition casefold "
    "format_map"
)
CONSTANTS: dict[str, Value] = {
    "os.sep": "/",
    "os.path.sep": "/",
    "os.curdir": ".",
    "os.pardir": "..",
    "os.extsep": ".",
    "os.linesep": "\n",
    "os.devnull": "/dev/null",
    "os.path.devnull": "/dev/null",
    "string.ascii_letters": string.ascii_letters,
    "string.ascii_lowercase": string.ascii_lowercase,
    "string.ascii_uppercase": string.ascii_uppercase,
    "string.digits": string.digits,
    "string.punctuation": string.punctuation,
    "string.printable": string.printable,
    "sys.executable": "python3",
    "__file__": "./program.py",
    "sys.argv[0]": "./program.py",
    "sys.maxsize": 2**63 - 1,
    "__name__": "__main__",
}


def _plain(value: Value) -> Any:
    """The Python object itself; ValueError where it is not known."""
    if not is_known(value):
        raise ValueError
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def lift(result: Any) -> Value:
    """A Python object as a value."""
    if isinstance(result, (bytes, bytearray)):
        return bytes(result[:MAX_TEXT])
    if isinstance(result, str):
        return result[:MAX_TEXT]
    if isinstance(result, (list, tuple)):
        return tuple(lift(item) for item in result[:MAX_ITEMS])
    if isinstance(result, (int, float)) or result is None:
        return result
    if isinstance(result, dict):
        return Table(tuple((lift(key), lift(item)) for key, item in list(result.items())[:MAX_ITEMS]))
    return UNKNOWN


def _bounded_inflate(make: Callable[[], Any]) -> Callable[[bytes], bytes]:
    return lambda data: make().decompress(data, MAX_TEXT)


def _bytes(value: Any) -> bytes:
    return value.encode("latin-1") if isinstance(value, str) else bytes(value)


_CODECS: set[str] = {
    "utf-8",
    "utf8",
    "rot13",
    "rot_13",
    "rot-13",
    "hex",
    "hex_codec",
    "base64",
    "base64_codec",
    "ascii",
    "latin-1",
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "chr": chr,
    "ord": ord,
    "str": lambda value="", *_: value.decode() if isinstance(value, bytes) else str(value),
    "repr": repr,
    "ascii": ascii,
    "int": int,
    "float": float,
    "abs": abs,
    "len": len,
    "hex": hex,
    "sum": lambda items: sum(items[:MAX_ITEMS]),
    "bytes": lambda value=b"", *_: bytes(value) if not isinstance(value, (str, int)) else _bytes(value),
    "bytearray": lambda value=b"", *_: bytes(value) if not isinstance(value, (str, int)) else _bytes(value),
    "list": list,
    "tuple": list,
    "sorted": sorted,
    "reversed": lambda items: list(items)[::-1] if not isinstance(items, str) else items[::-1],
    "bytes.fromhex": bytes.fromhex,
    "bytearray.fromhex": bytes.fromhex,
    "bytes.decode": lambda value, *rest: value.decode(*rest),
    "str.encode": lambda value, *rest: value.encode(*rest),
    "str.lower": str.lower,
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.unhexlify,
    "binascii.a2b_base64": binascii.a2b_base64,
    "base64.b64decode": lambda data, *_: base64.b64decode(data),
    "base64.standard_b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.decodebytes": base64.decodebytes,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.b85decode": base64.b85decode,
    "base64.a85decode": base64.a85decode,
    "base64.b64encode": lambda data, *_: base64.b64encode(data),
    "codecs.decode": lambda data, how="utf-8", *_: codecs.decode(data, how) if how in _CODECS else UNKNOWN,
    "codecs.encode": lambda data, how="utf-8", *_: codecs.encode(data, how) if how in _CODECS else UNKNOWN,
    "zlib.decompress": _bounded_inflate(zlib.decompressobj),
    "gzip.decompress": _bounded_inflate(lambda: zlib.decompressobj(31)),
    "bz2.decompress": _bounded_inflate(bz2.BZ2Decompressor),
    "lzma.decompress": _bounded_inflate(lzma.LZMADecompressor),
    "zlib.compress": lambda data, *_: zlib.compress(data, 1),
    "urllib.parse.unquote": urllib.parse.unquote,
    "urllib.parse.quote": urllib.parse.quote,
    "urllib.parse.urljoin": urllib.parse.urljoin,
    "html.unescape": html.unescape,
    "os.path.basename": posixpath.basename,
    "os.path.normpath": posixpath.normpath,
}


def call(name: str, arguments: tuple[Value, ...]) -> Value | None:
    """The result of a pure function by name, or None where it is not one or its arguments are not known."""
    if name in _PATHS:
        return _PATHS[name](arguments)
    if name == "range" and all(isinstance(item, int) for item in arguments) and 1 <= len(arguments) <= 3:
        try:
            return tuple(range(*arguments)[:MAX_ITEMS])  # type: ignore[arg-type]  # checked above
        except ValueError:
            return None
    function = _FUNCTIONS.get(name)
    if function is None:
        return None
    try:
        plain = [_plain(item) for item in arguments]
        if any(isinstance(item, int) and item.bit_length() > 4096 for item in plain):
            return None
        return lift(function(*plain))
    except Exception:  # whatever it raises here it raises in the program: no value
        if name in ("str", "bytes", "list", "tuple") and len(arguments) == 1:
            return arguments[0]
        return None


def method(receiver: Value, name: str, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value | None:
    """The result of a method of a known text, tuple or table, or None."""
    if isinstance(receiver, Table) and name in ("get", "pop", "setdefault") and arguments:
        return item(receiver, arguments[0])
    if isinstance(receiver, Table) and name in ("values", "keys", "items"):
        return {
            "values": tuple(value for _, value in receiver.items),
            "keys": tuple(key for key, _ in receiver.items),
            "items": tuple((key, value) for key, value in receiver.items),
        }[name]
    if not isinstance(receiver, (str, bytes)) or name not in _TEXT_METHODS:
        return None
    if name == "join" and len(arguments) == 1 and isinstance(arguments[0], tuple) and isinstance(receiver, str):
        return receiver.join(as_text(part) for part in arguments[0])[:MAX_TEXT]
    try:
        if name in ("format", "format_map"):
            return _format(receiver, arguments, keywords)
        plain = [_plain(argument) for argument in arguments]
        if name == "decode" and plain and str(plain[0]).replace("-", "_") in ("unicode_escape", "raw_unicode_escape"):
            # Python's own decoder warns of what it does not know.
            return ansi_c(as_text(receiver))
        if any(isinstance(argument, int) and argument > 4096 for argument in plain):
            return None
        if name == "replace" and len(receiver) * max(1, len(plain[1])) > MAX_TEXT * 16:
            return None
        return lift(getattr(receiver, name)(*plain))
    except Exception:  # as above
        return HOLE if name in ("format", "join", "replace", "format_map") else None


def _format(receiver: str | bytes, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    texts = [as_text(argument) for argument in arguments]
    named = {key: as_text(value) for key, value in keywords.items()}
    out: list[str] = []
    for count, (literal, name, _spec, _conversion) in enumerate(string.Formatter().parse(as_text(receiver))):
        out.append(literal)
        if name is None:
            continue
        place = name or str(
            sum(1 for part in list(string.Formatter().parse(as_text(receiver)))[:count] if part[1] == "")
        )
        known = texts[int(place)] if place.isdigit() and int(place) < len(texts) else named.get(place, HOLE)
        out.append(known)
    return "".join(out)[:MAX_TEXT]


def item(receiver: Value, index: Value) -> Value:
    """An item of a known container."""
    if isinstance(receiver, Table):
        return next((value for key, value in receiver.items if key == index and type(key) is type(index)), UNKNOWN)
    if isinstance(receiver, (str, bytes, tuple)) and isinstance(index, int):
        try:
            return receiver[index]
        except IndexError:
            return UNKNOWN
    if isinstance(receiver, Ref):
        return ref(f"{receiver.name}[{index}]") if isinstance(index, (str, int)) else ref(f"{receiver.name}[]")
    return UNKNOWN


def join(parts: tuple[Value, ...]) -> str:
    """What `os.path.join` makes of the parts."""
    texts = [as_text(part) for part in parts if not isinstance(part, tuple)] or [HOLE]
    return posixpath.join(texts[0], *texts[1:])[:MAX_TEXT]


def _path(arguments: tuple[Value, ...]) -> Value:
    return Ref("pathlib.Path()", join(arguments) if arguments else ".")


def _text_of(arguments: tuple[Value, ...]) -> str:
    return as_text(arguments[0]) if arguments else HOLE


def _same(arguments: tuple[Value, ...]) -> Value:
    return _text_of(arguments)


_PATHS: dict[str, Callable[[tuple[Value, ...]], Value]] = {
    "os.path.join": join,
    "os.path.expanduser": _same,
    "os.path.expandvars": _same,
    "os.path.abspath": _same,
    "os.path.realpath": _same,
    "os.path.dirname": lambda arguments: posixpath.dirname(_text_of(arguments)) or ".",
    "os.fspath": _same,
    "os.fsencode": _same,
    "os.getcwd": lambda _: ".",
    "os.path.splitext": lambda arguments: posixpath.splitext(_text_of(arguments)),
    "pathlib.Path": _path,
    "pathlib.Path.home": lambda _: Ref("pathlib.Path()", "~"),
    "pathlib.Path.cwd": lambda _: Ref("pathlib.Path()", "."),
    "tempfile.mkdtemp": lambda _: "/tmp/made",
    "tempfile.mktemp": lambda _: "/tmp/made",
    "tempfile.gettempdir": lambda _: "/tmp",
    "getpass.getuser": lambda _: "user",
    "os.getlogin": lambda _: "user",
}
PATH_STEPS = words(
    "joinpath resolve absolute expanduser with_name with_suffix with_stem as_posix relative_to __str__ parents parent"
)
