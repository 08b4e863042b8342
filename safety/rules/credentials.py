"""Credentials: what watches a person, guesses or harvests secrets, or keeps them badly."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.python_program import Program
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
RULES = (WATCH, CAPTURE, ACCOUNTS, BROWSER, HISTORY)
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


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        for pattern, rule, message in _BY_NAME:
            if pattern.match(call.name):
                yield rule.at(call.line, message, call.column)
                break
        if call.name == "cv2.VideoCapture" and any(isinstance(value, int) for value in call.argument(0)):
            yield CAPTURE.at(call.line, "opens the camera", call.column)


_BY_NAME = (
    (_WATCH, WATCH, "records what is typed or clicked"),
    (_BROWSER, BROWSER, "takes secrets out of a browser"),
    (_CAPTURE, CAPTURE, "takes screen, clipboard or microphone"),
    (_ACCOUNTS, ACCOUNTS, "reads accounts or a key store"),
    (re.compile(r"^readline\..*history"), HISTORY, "reads or writes what was typed before"),
)


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
        yield from (
            HISTORY.at(line, "wipes what was typed before", column)
            for key, value in command.assigns
            if key in ("HISTFILE", "HISTSIZE", "HISTFILESIZE") and value in ("", "0", "/dev/null")
        )
