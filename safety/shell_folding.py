"""What the shell makes of quotes, expansions and small pipelines when all of it is known."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from safety.python_values import HOLE

if TYPE_CHECKING:
    from safety.shell_command import Command

VARIABLES = {
    "HOME": "~",
    "PWD": ".",
    "OLDPWD": ".",
    "IFS": " ",
    "TMPDIR": "/tmp",
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/bash",
    "BASH": "/bin/bash",
    "0": "./script.sh",
    "BASH_SOURCE": "./script.sh",
    "#": "0",
    "?": "0",
    "!": "%1",
    "$": "%0",
}
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_C_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_C_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_QUOTED_ESCAPE = re.compile(r'\\([$`"\\])|\\\n')
_DEFAULT = re.compile(r"^:?[-=+](.*)$", re.DOTALL)
_ENDLESS = re.compile(
    r"^\s*(?:while\s+(?:true|:|1|\[\[?\s*(?:1|true)\s*\]\]?|\(\(\s*1\s*\)\)|/bin/true|\[\[?\s*(\S+)\s+(?:-eq|==?)\s+\1\s*\]\]?)\s*(?:;|\n|do)"
    r"|until\s+(?:\[\[?\s*(\d+)\s+-eq\s+(?!\2\b)\d+\s*\]|(?:false|/bin/false)\b)|for\s*\(\(\s*;\s*;\s*\)\))"
)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def unescape(word: str) -> str:
    """An unquoted word without its backslashes."""
    return _ESCAPE.sub(lambda found: "" if found[1] == "\n" else found[1], word) if "\\" in word else word


def unescape_quoted(text: str) -> str:
    """The inside of double quotes without its backslashes."""
    return _QUOTED_ESCAPE.sub(lambda found: found[1] or "", text) if "\\" in text else text


def ansi_c(text: str) -> str:
    """The inside of `$'...'`, or of a text with the escapes of C."""
    return _C_ESCAPE.sub(_c_character, text) if "\\" in text else text


def _c_character(found: re.Match[str]) -> str:
    body = found[1]
    if body[0] in "xuU":
        code = int(body[1:], 16)
        return chr(code) if code < 0x110000 else HOLE
    if body[0] in "01234567":
        return chr(int(body, 8) & 0xFF)
    return _C_LETTERS.get(body, body)


def braces(word: str) -> list[str]:
    """`{a,b}` written out, 64 words at most."""
    done: list[str] = []
    todo = [word]
    while todo and len(done) + len(todo) < 64:
        at = todo.pop()
        found = _BRACES.search(at)
        if found is None:
            done.append(at)
        else:
            todo.extend(at[: found.start()] + part + at[found.end() :] for part in reversed(found[1].split(",")))
    return done + todo


def arithmetic(text: str) -> str:
    """`$((2+3))` where it is one number, else a hole."""
    inner = text[3:-2].strip()
    return inner if inner.isdigit() else HOLE


def default_of(rest: str) -> str | None:
    """The default in `${x:-default}`, where it is plain text."""
    found = _DEFAULT.match(rest)
    if found is None:
        return None
    text = found[1].strip("\"'")
    return text.replace("$HOME", "~") if "$(" not in text and "`" not in text else HOLE


def expand(value: str, rest: str) -> str:
    """`${x:0:2}`, `${x,,}`, `${x^^}`, `${x#..}`, `${x/a/b}` where it is simple, else the value as it is."""
    cut = re.fullmatch(r":\s*(-?\d+)(?::\s*(\d+))?", rest)
    if cut:
        start = int(cut[1])
        tail = value[start:]
        return tail[: int(cut[2])] if cut[2] else tail
    if rest in (",,", ","):
        return value.lower()
    if rest in ("^^", "^"):
        return value.upper()
    swap = re.fullmatch(r"//?([^/]+)/(.*)", rest)
    if swap:
        return value.replace(unescape(swap[1]), swap[2])
    return value


def is_endless(text: str) -> bool:
    """Whether a loop has no condition that could end it."""
    return _ENDLESS.match(text) is not None


def pipeline(stages: Sequence[Sequence[str]]) -> str:
    """What a pipeline of text tools prints, or a hole."""
    data: bytes | None = None
    for words in stages:
        if not words:
            return HOLE
        data = _stage(words[0], list(words[1:]), data)
        if data is None:
            return HOLE
    return (data or b"").decode("utf-8", "replace").rstrip("\n")


def _stage(name: str, args: list[str], data: bytes | None) -> bytes | None:
    name = name.rsplit("/", 1)[-1]
    options = [arg for arg in args if arg.startswith("-")]
    words = [arg for arg in args if not arg.startswith("-")]
    if name in ("echo", "printf"):
        text = " ".join(
            args[next((i for i, arg in enumerate(args) if arg not in ("-n", "-e", "-ne", "-en")), len(args)) :]
        )
        if name == "printf" and len(words) > 1 and "%s" in words[0]:
            text = words[0].replace("%s", "".join(words[1:]), 1)
        if name == "printf" or any("e" in option for option in options):
            text = ansi_c(text)
        return text.encode("utf-8", "surrogatepass")
    if name in ("pwd", "whoami", "id"):
        return {"pwd": b".", "whoami": b"user", "id": b"1000"}[name]
    if name == "mktemp":
        return b"/tmp/made"
    if name == "dirname" and words:
        return (words[0].rsplit("/", 1)[0] if "/" in words[0] else ".").encode()
    if name in ("realpath", "readlink") and words:
        return words[0].encode()
    if name == "cat" and not words:
        return data
    if data is None:
        return None
    try:
        if name == "base64" and any(option.startswith(("-d", "-D", "--decode")) for option in options):
            return base64.b64decode(data)
        if name == "base32" and any(option.startswith(("-d", "--decode")) for option in options):
            return base64.b32decode(data.strip())
        if name == "rev":
            return data.strip()[::-1]
        if name == "xxd" and any("r" in option for option in options):
            return binascii.unhexlify(re.sub(rb"[^0-9a-fA-F]", b"", data))
        if name in ("gunzip", "zcat") or (name == "gzip" and "-d" in options):
            return zlib.decompressobj(31).decompress(data, 65536)
        if name == "tr" and len(words) == 2:
            return _translate(words[0], words[1], data)
        if name == "tr" and len(words) == 1 and any("d" in option for option in options):
            return data.decode().translate({ord(char): None for char in ansi_c(words[0])}).encode()
    except (binascii.Error, ValueError, zlib.error, gzip.BadGzipFile):
        return None
    return None


def _translate(old: str, new: str, data: bytes) -> bytes:
    first, second = _ranges(old), _ranges(new)
    second += second[-1:] * (len(first) - len(second))
    return data.decode().translate(str.maketrans(first, second[: len(first)])).encode()


def _ranges(text: str) -> str:
    return re.sub(r"(.)-(.)", lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), text)


_WRAPPERS = {
    "sudo": "ugpCrtThUD",
    "doas": "uC",
    "env": "uSC",
    "nohup": "",
    "timeout": "sk",
    "nice": "n",
    "ionice": "cnp",
    "time": "fo",
    "exec": "a",
    "command": "",
    "builtin": "",
    "setsid": "",
    "stdbuf": "ioe",
    "xargs": "InLPdsEaR",
    "busybox": "",
    "unbuffer": "",
    "watch": "nd",
    "strace": "ope",
    "chroot": "",
    "unshare": "",
    "su": "",
    "parallel": "j",
    "then": "",
    "do": "",
    "else": "",
    "!": "",
    "coproc": "",
}
_PLACES = {"timeout": 1, "chroot": 1}
"""Plain arguments of the wrapper itself, before the command."""


def unwrap(command: Command) -> Iterator[Command]:
    """The command, and the ones that it starts: `sudo rm x`, `env A=1 sh`, `xargs rm`, `find -exec rm {} ;`."""
    for _ in range(8):
        yield command
        inner = _exec_of(command) if command.name in ("find", "fd") else _inner(command)
        if inner is None or not inner:
            return
        name = inner[0]
        bare = name.rsplit("/", 1)[-1] if name.startswith(("/bin/", "/usr/", "/sbin/")) else name
        given = (*inner[1:], HOLE) if command.name in ("xargs", "parallel") else tuple(inner[1:])
        command = replace(command, name=bare, args=given)


def _exec_of(command: Command) -> list[str] | None:
    for flag in ("-exec", "-execdir", "-ok"):
        if flag in command.args:
            tail = list(command.args[command.args.index(flag) + 1 :])
            end = next((place for place, word in enumerate(tail) if word in (";", "+", "\\;")), len(tail))
            root = next((word for word in command.args if not word.startswith("-")), ".")
            return [word.replace("{}", f"{root}/{HOLE}") for word in tail[:end]]
    return None


def _inner(command: Command) -> list[str] | None:
    takes = _WRAPPERS.get(command.name)
    if takes is None:
        return None
    args = list(command.args)
    skip = _PLACES.get(command.name, 0)
    if command.name == "su":
        return ["sh", *args[args.index("-c") :]] if "-c" in args else None
    while args:
        word = args[0]
        if word == "--":
            args.pop(0)
            break
        if word.startswith("-") and len(word) > 1:
            args.pop(0)
            if len(word) == 2 and word[1] in takes and args:
                args.pop(0)
        elif "=" in word and command.name in ("env", "sudo") and re.match(r"^[A-Za-z_]\w*=", word):
            args.pop(0)
        elif skip:
            skip -= 1
            args.pop(0)
        else:
            break
    return args or None
