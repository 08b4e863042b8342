"""Files, in shell scripts: the rules of `files`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from safety.paths import is_outside, place
from safety.python_values import HOLE, words
from safety.rules.file_findings import DEVICE, LINK, MENTION, MODE, READ, SWEEP, TREE, filename, found_at
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

_SHELL_READERS = words(
    "cat ls ll dir less more head tail grep egrep fgrep rg find fd file stat wc sort uniq cut awk gawk "
    "sed strings od xxd hexdump diff cmp cp scp rsync tar zip gzip bzip2 xz 7z base64 md5sum sha1sum "
    "sha256sum source . tree du nl tac rev cd pushd python python3 bash sh perl ruby node view vi vim "
    "nano ln mv readlink realpath locate getfacl lsattr tee dd curl wget sqlite3 mysql openssl gpg jq "
    "split paste join comm column fold readarray mapfile getent basename dirname test [ [[ install unzip "
    "gunzip zcat bzcat xzcat zgrep iconv pr expand fmt look cpio ar nm objdump readelf"
)
_SHELL_CHANGERS = words(
    "rm rmdir unlink mv chmod chown chgrp chattr touch mkdir truncate tee shred install setfacl mkfifo "
    "mknod wipe srm rename trash ln patch unzip"
)
_LAST_CHANGES = frozenset(["cp", "scp", "rsync", "ln", "install", "mv"])
_PURE_SHELL = frozenset(["basename", "dirname", "test", "[", "[[", "echo", "printf"])


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    yield from filename(script.code)
    for command in script.commands:
        yield from _redirects(command)
        if command.name in _SHELL_READERS or command.name in _SHELL_CHANGERS:
            yield from _command(command)
        elif command.name not in ("echo", "printf", "export", "alias"):
            yield from _other(command)
        yield from _devices(command)
        if command.name in ("echo", "printf"):
            yield from _spread((word, command.line, command.column) for word in command.args)
        elif command.name == "umask" and any(arg.strip("0") == "" for arg in command.args):
            yield MODE.at(command.line, "lets everybody write what is made from here on", command.column)
        elif command.name in ("chown", "chgrp"):
            yield MODE.at(command.line, f"{command.name} gives a file to somebody else (it needs root)", command.column)
    yield from _spread(script.spread)
    yield from _locks_away(script)
    yield from _lists(script)


def _lists(script: Script) -> Iterator[Finding]:
    """Paths of secrets that stand alone on a line: of a list that something else reads."""
    for number, line in enumerate(script.lines, 1):
        word = line.strip().strip("\"'")
        alone = word[:1] in ("/", "~") and len(word) < 200 and not re.search(r"[\s;|&<>]", word)
        if alone and place(word) in ("secret", "engine", "startup"):
            yield MENTION.at(number, f"names {word[:80]}")


_LOCKERS = re.compile(
    r"^(?:openssl enc\b(?!.*\s-d\b)|gpg2? .*(?:-\w*c\b|--symmetric|-e\b|--encrypt)|ccrypt|age |7za? a .*-p"
    r"|zip .*(?:-P|-e\b)|mcrypt)"
)


def _locks_away(script: Script) -> Iterator[Finding]:
    """Files that are encrypted one by one, the originals deleted."""
    gone = any(
        command.name in ("rm", "shred", "unlink", "srm", "wipe") and command.loops for command in script.commands
    )
    gone = gone or any(
        command.name in ("rm", "shred") and HOLE in " ".join(command.args) for command in script.commands
    )
    for command in script.commands:
        line = " ".join((command.name, *command.args))[:600]
        if _LOCKERS.match(line) and HOLE in line and (gone or command.name in ("ccrypt", "mcrypt")):
            yield TREE.at(command.line, "encrypts files one by one and deletes what they were", command.column)


def _spread(words: Iterable[tuple[str, int, int]]) -> Iterator[Finding]:
    """Patterns that the shell itself looks up outside the workspace."""
    for word, line, column in words:
        if (
            word.startswith(("/", "~", ".."))
            and any(char in word for char in "*?[")
            and " " not in word
            and is_outside(word)
        ):
            yield READ.at(line, f"lists {word[:80]}, outside the workspace", column)


def _redirects(command: Command) -> Iterator[Finding]:
    for operator, target in command.redirects:
        if ">" in operator and not (target.isdigit() or target == "-"):
            if target.startswith("/dev/tcp") or target.startswith("/dev/udp"):
                continue
            yield from found_at(target, True, command.line, command.column)
        elif operator == "<":
            yield from found_at(target, False, command.line, command.column)


def _command(command: Command) -> Iterator[Finding]:
    name = command.name
    words = list(command.words)
    if name in ("find",):
        words = list(_roots_of_find(command.args))
    elif (
        name in ("grep", "egrep", "fgrep", "rg", "awk", "gawk", "sed", "tr", "jq", "perl")
        and words
        and not command.has("-e", "-f")
    ):
        words = words[1:]
    elif name == "dd":
        words = []
    options = [arg.split("=", 1)[1] for arg in command.args if arg.startswith("--") and "=" in arg]
    options += [arg[1:] for arg in command.args if arg.startswith("@/") or arg.startswith("@~")]
    deletes = name in ("rm", "rmdir", "unlink", "shred", "wipe", "srm") or (
        name == "find" and "-delete" in command.args
    )
    for count, word in enumerate([*words, *options]):
        if "://" in word and not word.startswith("file://"):
            continue
        last = count == len(words) - 1
        if name == "ln" and not last and is_outside(word):
            yield LINK.at(command.line, f"makes a link to {word[:80]}, outside the workspace", command.column)
            continue
        changes = (
            deletes
            or (name in _SHELL_CHANGERS and name not in ("ln", "install"))
            or (name in _LAST_CHANGES and last and len(words) > 1)
        )
        changes = changes or (name == "sed" and command.has("-i"))
        chosen = name == "find" and place(word) == "inside" and _picks(command.args)
        yield from found_at(
            word, changes, command.line, command.column, deletes=deletes and not chosen, looks=name in _PURE_SHELL
        )
        if deletes and word.startswith("/tmp") is False and word in ("*", "./*", ".", "$PWD"):
            continue
        if (name in ("tar", "zip", "rsync", "cp", "scp", "7z") and word.rstrip("/") in ("~", "/tmp") and not last) or (
            name in ("tar", "zip", "7z") and word.rstrip("/*") == "~"
        ):
            yield SWEEP.at(command.line, "packs or copies the whole home directory", command.column)
    if (
        name == "chmod"
        and words
        and re.search(r"^[0-7]?[0-7]{2}[2367]$|^[2467][0-7]{3}$|[ugao]*\+[rwxXt]*s|^(?:o|a|ugo|go)?[+=]r?w", words[0])
        and words[0] != "+w"
    ):
        yield MODE.at(command.line, f"gives permissions {words[0]} to a file", command.column)


_TESTS = words(
    "-name -iname -path -ipath -wholename -regex -iregex -mtime -mmin -atime -ctime -size -newer -user -group -perm"
)


def _picks(args: tuple[str, ...]) -> bool:
    """Whether `find` looks for some of the files, not for all."""
    tests = any(arg in _TESTS and value not in ("*", "*.*") for arg, value in itertools.pairwise(args))
    return tests or "-empty" in args


def _roots_of_find(args: tuple[str, ...]) -> Iterator[str]:
    """The roots that `find` starts from."""
    for arg in args:
        if arg in ("-L", "-H", "-P"):
            continue
        if arg.startswith(("-", "(", "!", "\\")):
            return
        yield arg


def _is_data(word: str) -> bool:
    """Whether a path lies where people and services keep their data."""
    roots = ("/home/", "/data/", "/mnt/", "/srv/", "/var/", "/opt/", "/media/", "/app/")
    return word.startswith(roots) and place(word) == "outside"


def _other(command: Command) -> Iterator[Finding]:
    for word in (command.name, *command.args):
        word = word.lstrip("@")
        if word.startswith("-") and "=" in word:
            word = word.split("=", 1)[1]
        if (
            word[:1] in ("/", "~", ".")
            and len(word) < 300
            and " " not in word
            and (place(word) in ("secret", "engine", "startup", "system") or _is_data(word))
        ):
            yield from found_at(word, False, command.line, command.column)


def _devices(command: Command) -> Iterator[Finding]:
    if command.name == "dd":
        for arg in command.args:
            key, _, value = arg.partition("=")
            if key == "of" and value.startswith("/dev/") and place(value) != "harmless":
                yield DEVICE.at(command.line, f"writes over {value}", command.column)
            elif key in ("if", "of"):
                yield from found_at(value, key == "of", command.line, command.column)
    elif command.name.startswith("mkfs") or command.name in (
        "shred",
        "wipefs",
        "fdisk",
        "parted",
        "mkswap",
        "wipe",
        "srm",
        "sfdisk",
        "badblocks",
        "hdparm",
    ):
        yield DEVICE.at(command.line, f"{command.name} destroys what is stored", command.column)
    elif any(
        ">" in operator and re.match(r"/dev/(?:sd|hd|nvme|vd|mmcblk|mem)", target)
        for operator, target in command.redirects
    ):
        yield DEVICE.at(command.line, "writes over a disk", command.column)
