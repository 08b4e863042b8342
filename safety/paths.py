"""Where a path lies, seen from inside the sandbox."""

from __future__ import annotations

import posixpath
import re
from typing import Literal

from safety.python_values import HOLE

Place = Literal[
    "inside", "scratch", "unknown", "harmless", "outside", "system", "secret", "startup", "engine", "everything"
]
"""`inside` the workspace; `scratch` is /tmp, HOME, /dev/shm; `startup` runs by itself later; `engine` is Docker's."""

_SECRET = re.compile(
    r"""(?:^|/)(?:
    etc/(?:shadow|gshadow|passwd|group|sudoers|opasswd|master\.passwd)(?:[-~.]|$)
    | etc/(?:ssh|ssl/private|security|sudoers\.d|pam\.d)(?:/|$)
    | \.ssh(?:/|$) | id_(?:rsa|dsa|ecdsa|ed25519)(?:\.pub)?$ | authorized_keys$ | known_hosts$
    | \.aws(?:/|$) | \.azure(?:/|$) | \.kube(?:/|$) | \.gnupg(?:/|$) | \.docker/config\.json$ | \.netrc$ | \.pgpass$
    | \.git-credentials$ | \.npmrc$ | \.pypirc$ | \.config/gcloud | \.mozilla(?:/|$)
    | \.config/(?:google-chrome|chromium|BraveSoftware)
    | \.(?:bash|zsh|python|mysql|psql|sqlite|node_repl)_?history$ | \.local/share/(?:keyrings|fish)
    | \.password-store(?:/|$)
    | Login\ Data$ | cookies\.sqlite$ | key[34]\.db$ | logins\.json$ | wallet\.dat$ | \.electrum | \.ethereum
    | proc/(?:\d+|self|[^/]+)/(?:environ|mem|maps|cmdline|fd|root|cwd)(?:/|$) | proc/kcore$ | dev/(?:k?mem|port)$
    | var/run/secrets(?:/|$) | run/secrets(?:/|$) | \.vault-token$ | \.boto$ | \.s3cfg$ | System32/config(?:/|$)
    )""",
    re.VERBOSE,
)
_STARTUP = re.compile(
    r"""(?:^|/)(?:
    \.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zprofile|zshenv|zlogin|kshrc
    |cshrc|tcshrc|inputrc|xinitrc|xsession|pam_environment|vimrc|gitconfig|tmux\.conf)$
    | \.config/(?:autostart|systemd|fish)
    | etc/(?:profile|bash\.bashrc|environment|rc\.local|crontab|anacrontab|inittab|ld\.so\.preload|ld\.so\.conf)
    | etc/(?:profile\.d|cron\.[a-z]+|init\.d|rc\d?\.d|systemd|init|xdg/autostart|update-motd\.d|udev)(?:/|$)
    | etc/apt/apt\.conf\.d(?:/|$)
    | var/spool/cron | (?:usr/)?lib/systemd
    | Library/Launch(?:Agents|Daemons) | \.git/hooks(?:/|$) | Start\ Menu/Programs/Startup
    )""",
    re.VERBOSE,
)
_ENGINE = re.compile(r"(?:^|/)(?:var/)?run/(?:docker|containerd|podman|crio)[./]|docker\.sock$|^/var/lib/docker")
_HARMLESS = {
    "/dev/null",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
    "/dev/full",
    "/dev/ptmx",
}
_HARMLESS_UNDER = (
    "/dev/fd/",
    "/usr/share/dict/",
    "/usr/share/fonts/",
    "/usr/share/zoneinfo/",
    "/path/to",
    "/your/",
    "/path/",
)
_SCRATCH = ("/tmp", "/var/tmp", "/dev/shm", "~", "$TMPDIR")
_WORKSPACE = "/workspace"
_WINDOWS = re.compile(r"^(?:[A-Za-z]:[\\/]|\\\\[^\\])")


def place(path: str) -> Place:
    """Where a path lies; parts of it may be holes."""
    if path.startswith("file://"):
        path = path[7:]
    if not path or "\0" in path or len(path) > 4096:
        return "unknown"
    path = (
        path.replace("${HOME}", "~")
        .replace("$HOME", "~")
        .replace("%USERPROFILE%", "~")
        .replace("${PWD}", ".")
        .replace("$PWD", ".")
    )
    if _WINDOWS.match(path):
        path = path.replace("\\", "/")
        return "secret" if _SECRET.search(path) else "startup" if _STARTUP.search(path) else "outside"
    normal = posixpath.normpath(path)
    if normal.startswith("//"):
        normal = normal[1:]
    if path.startswith("~") and ".." in path:
        # A path that climbs out of HOME is one of the root.
        normal = posixpath.normpath("/home/user" + path[path.find("/") :] if "/" in path else path)
        normal = re.sub(r"^/home/user(?=/|$)", "~", normal)
    if _ENGINE.search(normal):
        return "engine"
    if _SECRET.search(normal):
        return "secret"
    if _STARTUP.search(normal):
        return "startup"
    return _by_root(normal)


def _by_root(normal: str) -> Place:
    if normal.startswith(HOLE):
        return "unknown"
    if normal in _HARMLESS or normal.startswith(_HARMLESS_UNDER):
        return "harmless"
    if normal == _WORKSPACE or normal.startswith(_WORKSPACE + "/"):
        return "inside"
    if any(normal == root or normal.startswith((root + "/", root + "*")) for root in _SCRATCH):
        return "scratch"
    if normal.startswith("~"):
        return "outside"
    if normal in ("/", "/*", "/.", "/.*", "/**"):
        return "everything"
    if normal.startswith("/" + HOLE):
        return "unknown"
    if normal.startswith(("/etc", "/proc", "/sys", "/root", "/boot", "/dev", "/var/log", "/run")):
        return "system"
    if normal.startswith("/"):
        return "outside"
    return "outside" if normal == ".." or normal.startswith("../") else "inside"


def is_outside(path: str) -> bool:
    """Whether the path certainly lies outside the workspace and the scratch places."""
    return place(path) not in ("inside", "scratch", "unknown", "harmless")
