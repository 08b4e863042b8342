"""Credentials: what watches a person, guesses or harvests secrets, or keeps them badly."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import HOLE, Ref, as_text
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

WATCH = Rule(
    "credentials.watches-person",
    "deny",
    "credentials",
    "It records keys, screen, clipboard, camera or microphone.",
    bad=(
        "from pynput import keyboard\nkeyboard.Listener(on_press=print).start()",
        "import keyboard\nkeyboard.on_press(print)",
    ),
    good=("import cv2\ncv2.VideoCapture('film.mp4')",),
)
CAPTURE = Rule(
    "credentials.captures",
    "ask",
    "credentials",
    "It takes what is on the screen, the clipboard, the camera or the microphone.",
    bad=(
        "import pyperclip\npyperclip.paste()",
        "from PIL import ImageGrab\nImageGrab.grab()",
        "import cv2\ncv2.VideoCapture(0)",
    ),
    good=("from PIL import Image\nImage.new('RGB', (2, 2))",),
)
ACCOUNTS = Rule(
    "credentials.accounts",
    "ask",
    "credentials",
    "It reads the machine's accounts or a key store.",
    bad=("import pwd\npwd.getpwall()", "import keyring\nkeyring.get_password('a', 'b')", "#!bash\ngetent passwd"),
    good=("import getpass\ngetpass.getuser()",),
)
BROWSER = Rule(
    "credentials.browser",
    "deny",
    "credentials",
    "It takes passwords and cookies out of a browser or a cracked archive.",
    bad=("import browser_cookie3\nbrowser_cookie3.chrome()", "#!bash\njohn hashes.txt", "#!bash\nhashcat -m 0 h"),
    good=("from http.cookies import SimpleCookie\nSimpleCookie()",),
)
WEAK = Rule(
    "credentials.weak-protection",
    "ask",
    "credentials",
    "Secrets kept like that are soon read: a broken cipher, a short key or a bare hash of a password.",
    bad=(
        "import hashlib\ndef store(password):\n    return hashlib.md5(password.encode()).hexdigest()",
        "from Crypto.Cipher import DES\nDES.new(b'8bytekey', DES.MODE_ECB)",
        "from Crypto.PublicKey import RSA\nRSA.generate(1024)",
        "#!bash\nopenssl enc -des-ecb -in a -out b",
    ),
    good=("import hashlib\nhashlib.md5(open('a', 'rb').read()).hexdigest()", "import hashlib\nhashlib.sha256(b'x')"),
)
HISTORY = Rule(
    "credentials.history",
    "ask",
    "credentials",
    "It reads or wipes what was typed before.",
    bad=(
        "#!bash\nhistory -c",
        "#!bash\nunset HISTFILE",
        "#!bash\nhistory | tail",
        "import readline\nreadline.write_history_file('x')",
    ),
    good=("#!bash\necho history",),
)
CRACK = Rule(
    "credentials.guesses",
    "ask",
    "credentials",
    "It tries passwords one by one against something that is locked.",
    bad=(
        "import zipfile\nz = zipfile.ZipFile('a.zip')\nfor w in open('words.txt'):\n"
        "    z.extractall(pwd=w.strip().encode())",
    ),
    good=("import zipfile\nzipfile.ZipFile('a.zip').extractall('out')",),
)
RULES = (WATCH, CAPTURE, ACCOUNTS, BROWSER, WEAK, HISTORY, CRACK)

_WATCH = re.compile(
    r"^(?:pynput\.(?:keyboard|mouse)\.Listener|keyboard\.(?:on_press|on_release|hook|record|read_event"
    r"|read_key|start_recording)|mouse\.(?:hook|on_|record)|pyHook\.|pyxhook\.|evdev\.InputDevice"
    r"|Xlib\.display\.Display\(\)\.record)"
)
_CAPTURE = re.compile(
    r"^(?:pyperclip\.|clipboard\.|PIL\.ImageGrab\.|pyautogui\.|mss\.|pyscreenshot\.|d3dshot\."
    r"|sounddevice\.(?:rec|InputStream)|pyaudio\.PyAudio\(\)\.open|speech_recognition\.Microphone"
    r"|win32clipboard\.|pynput\.(?:keyboard|mouse)\.Controller|picamera\.|screeninfo\.)"
)
_ACCOUNTS = re.compile(
    r"^(?:pwd\.getpw|grp\.getgr|spwd\.|crypt\.|keyring\.|secretstorage\.|hvac\.|win32cred\.|win32crypt\.)"
)
_BROWSER = re.compile(
    r"^(?:browser_cookie3\.|browsercookie\.|pycookiecheat\.|win32crypt\.CryptUnprotectData"
    r"|browser_history\.|lazagne|pypykatz|mimikatz|rookiepy\.|browserhistory\.)"
)
_SECRET_NAME = re.compile(r"passw|passphrase|pwd\b|(?:^|[_ ])pw(?:$|[_ ])|\bpin\b|secret|credential", re.IGNORECASE)
_BARE_HASH = re.compile(r"^hashlib\.(?:md5|sha1|md4|new)$")
_WEAK_CIPHER = re.compile(
    r"\b(?:Cipher\.(?:DES|ARC2|ARC4|Blowfish|CAST|XOR)\.new|algorithms\.(?:ARC4|Blowfish|IDEA|CAST5|SEED"
    r"|TripleDES)|pyDes\.des)$"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        for pattern, rule, message in _BY_NAME:
            if pattern.match(call.name):
                yield rule.at(call.line, message, call.column)
                break
        if call.name == "cv2.VideoCapture" and any(isinstance(value, int) for value in call.argument(0)):
            yield CAPTURE.at(call.line, "opens the camera", call.column)
        yield from _weak(program, call)
        yield from _guess(program, call)


_BY_NAME = (
    (_WATCH, WATCH, "records what is typed or clicked"),
    (_BROWSER, BROWSER, "takes secrets out of a browser"),
    (_CAPTURE, CAPTURE, "takes screen, clipboard or microphone"),
    (_ACCOUNTS, ACCOUNTS, "reads accounts or a key store"),
    (re.compile(r"^readline\..*history"), HISTORY, "reads or writes what was typed before"),
)


def _weak(program: Program, call: Call) -> Iterator[Finding]:
    if call.name in ("hashlib.md5().update", "hashlib.sha1().update", "hashlib.new().update"):
        source = " ".join((*_names_in(call.node), *_texts_in(call.node)))
        if _SECRET_NAME.search(source):
            yield WEAK.at(call.line, "keeps a password as a bare fast hash", call.column)
    if _BARE_HASH.match(call.name):
        function = program.function(call.node)
        source = " ".join((*_names_in(call.node), *_texts_in(call.node)))
        about = function.name if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else ""
        if _SECRET_NAME.search(source) or (
            _SECRET_NAME.search(about) and re.search(r"hash|store|encrypt|save|check|verify", about)
        ):
            weak = call.name != "hashlib.new" or any(
                as_text(value).lower() in ("md5", "sha1", "md4") for value in call.argument(0)
            )
            if weak:
                yield WEAK.at(call.line, "keeps a password as a bare fast hash", call.column)
    elif _WEAK_CIPHER.search(call.name):
        yield WEAK.at(call.line, "uses a cipher that is broken", call.column)
    elif re.search(
        r"\b(?:RSA\.generate|DSA\.generate|rsa\.generate_private_key|rsa\.newkeys|RSA\.construct"
        r"|dsa\.generate_private_key)$",
        call.name,
    ):
        sizes = [*call.argument(0, "key_size", "bits"), *call.argument(1, "key_size")]
        if any(isinstance(size, int) and size != 65537 and 16 <= size < 2048 for size in sizes):
            yield WEAK.at(call.line, "makes a key that is too short", call.column)
    for values in (*call.args, *call.keywords.values()):
        if any(isinstance(value, Ref) and re.search(r"\.MODE_ECB$|modes\.ECB\(\)$", value.name) for value in values):
            yield WEAK.at(call.line, "uses a cipher mode that shows patterns", call.column)


def _names_in(node: ast.Call) -> Iterator[str]:
    for argument in node.args:
        for inner in ast.walk(argument):
            if isinstance(inner, ast.Name):
                yield inner.id
            elif isinstance(inner, ast.Attribute):
                yield inner.attr
            elif isinstance(inner, ast.arg):
                yield inner.arg


def _texts_in(node: ast.Call) -> Iterator[str]:
    for argument in node.args:
        for inner in ast.walk(argument):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, (str, bytes)):
                yield as_text(inner.value)[:80]


def _guess(program: Program, call: Call) -> Iterator[Finding]:
    if call.name.endswith((".extractall", ".setpassword", ".extract")) and (
        "pwd" in call.keywords or "password" in call.keywords
    ):
        given = call.keywords.get("pwd") or call.keywords.get("password") or ()
        at: ast.AST | None = program.parent(call.node)
        while at is not None and not isinstance(at, (ast.For, ast.While, ast.Module)):
            at = program.parent(at)
        if isinstance(at, (ast.For, ast.While)) and any(HOLE in as_text(value) for value in given):
            yield CRACK.at(call.line, "tries passwords in a loop", call.column)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        name, line, column = command.name, command.line, command.column
        if name in (
            "john",
            "hashcat",
            "medusa",
            "ncrack",
            "fcrackzip",
            "mimikatz",
            "unshadow",
            "lazagne",
            "secretsdump.py",
            "crackmapexec",
        ):
            yield BROWSER.at(line, f"{name} takes or cracks passwords", column)
        elif (
            name == "getent"
            or (name == "security" and "find-generic-password" in command.args)
            or name in ("secret-tool", "pass", "gpg-connect-agent", "ssh-add")
        ):
            yield ACCOUNTS.at(line, f"{name} reads accounts or a key store", column)
        elif (
            name == "history"
            or (name == "unset" and any(arg.startswith("HIST") for arg in command.args))
            or name == "fc"
        ):
            yield HISTORY.at(line, "reads or wipes what was typed before", column)
        elif name in (
            "scrot",
            "import",
            "gnome-screenshot",
            "xclip",
            "xsel",
            "xinput",
            "arecord",
            "fswebcam",
            "logkeys",
            "showkey",
            "pbpaste",
            "screencapture",
            "xdotool",
            "script",
        ):
            rule = WATCH if name in ("logkeys", "xinput", "showkey") else CAPTURE
            if name != "import" or command.args:
                yield rule.at(line, f"{name} takes keys, screen or clipboard", column)
        elif name == "openssl" and re.search(r"-(?:des\d?|rc4|rc2|bf|des-ecb|aes-\d+-ecb)\b", " ".join(command.args)):
            yield WEAK.at(line, "uses a cipher that is broken", column)
        elif (
            name == "openssl"
            and command.args[:1] == ("genrsa",)
            and any(arg.isdigit() and int(arg) < 2048 for arg in command.args)
        ):
            yield WEAK.at(line, "makes a key that is too short", column)
        elif name in ("md5sum", "sha1sum") and command.before is not None and _SECRET_NAME.search(_line(script, line)):
            yield WEAK.at(line, "keeps a password as a bare fast hash", column)
        yield from (
            HISTORY.at(line, "wipes what was typed before", column)
            for key, value in command.assigns
            if key in ("HISTFILE", "HISTSIZE", "HISTFILESIZE") and value in ("", "0", "/dev/null")
        )


def _line(script: Script, line: int) -> str:
    return script.lines[line - 1][:2000] if 0 < line <= len(script.lines) else ""
