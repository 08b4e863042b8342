"""Packages: what is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.python_program import Program
from safety.python_values import words
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

INSTALL = Rule(
    "packages.install",
    "ask",
    "packages",
    "It brings in code that nobody here has read.",
    bad=(
        "#!bash\npip install requests",
        "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'x'])",
        "#!bash\nnpm i left-pad",
    ),
    good=("#!bash\npip --version", "#!bash\npip list"),
)
SYSTEM = Rule(
    "packages.system",
    "ask",
    "packages",
    "It changes the system's packages, which needs root: the sandbox cannot, even with a yes.",
    bad=("#!bash\napt-get install -y nmap", "#!bash\nsudo dnf remove x"),
    good=("#!bash\necho apt-get install x",),
)
RULES = (INSTALL, SYSTEM)

_INSTALLERS = {
    "pip": ("install", "download", "uninstall"),
    "pip3": ("install", "download", "uninstall"),
    "pipx": ("install", "run", "inject"),
    "uv": ("add", "sync", "pip", "tool", "run"),
    "poetry": ("add", "install", "update"),
    "conda": ("install", "create", "update", "remove"),
    "mamba": ("install", "create"),
    "npm": ("install", "i", "ci", "add", "exec", "update", "publish"),
    "yarn": ("add", "install", "global"),
    "pnpm": ("add", "install", "i"),
    "gem": ("install", "update"),
    "bundle": ("install",),
    "cargo": ("install", "add", "publish"),
    "go": ("get", "install"),
    "composer": ("install", "require"),
    "easy_install": ("",),
    "npx": ("",),
    "uvx": ("",),
    "cpan": ("",),
    "luarocks": ("install",),
}
_SYSTEM = words(
    "apt apt-get aptitude dpkg yum dnf rpm pacman apk zypper brew snap flatpak emerge port nix-env choco winget opkg"
)
_QUIET = {"list", "show", "search", "info", "-l", "--list", "-L", "policy", "--version", "-q", "-qa"}


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        if re.match(
            r"^(?:pip\.|pip\._internal\.|setuptools\.command\.easy_install|micropip\.|ensurepip\."
            r"|pkg_resources\.require$|conda\.)",
            call.name,
        ):
            yield INSTALL.at(call.line, "installs packages", call.column)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        name, args = command.name, list(command.args)
        if re.fullmatch(r"python[\d.]*", name) and args[:1] == ["-m"] and len(args) > 1:
            name, args = args[1], args[2:]
        name = re.sub(r"^pip[\d.]+$", "pip", name)
        if name in _INSTALLERS:
            words = [arg for arg in args if not arg.startswith("-")]
            wanted = _INSTALLERS[name]
            if ("" in wanted and words) or (words and words[0] in wanted):
                yield INSTALL.at(command.line, f"{name} {words[0] if words else ''} brings in packages", command.column)
        elif name in _SYSTEM and args and args[0] not in _QUIET:
            yield SYSTEM.at(command.line, f"{name} changes the system's packages", command.column)
