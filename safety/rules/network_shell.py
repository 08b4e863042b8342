"""Network, in shell scripts: the rules of `network`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.paths import place
from safety.python_values import words
from safety.rules.network import (
    DATABASE,
    EXFILTRATE,
    LISTEN,
    MAIL,
    METADATA,
    METADATA_HOST,
    REMOTE_SHELL,
    REQUEST,
    RUN_DOWNLOAD,
    SNIFF,
    SOCKET,
)
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

_SHELL_REQUEST = words(
    "curl wget aria2c http https lynx w3m links elinks ftp lftp sftp scp rsync tftp axel fetch youtube-dl "
    "yt-dlp gh aws gsutil gcloud az s3cmd rclone svn hg nslookup dig host whois ping ping6 traceroute "
    "tracepath mtr xh httpie xdg-open sensible-browser firefox google-chrome chromium chromium-browser w3m open"
)
_SHELL_SOCKET = words(
    "nc ncat netcat telnet ssh socat nmap masscan zmap openssl sshpass autossh rsh rlogin mosh "
    "proxychains hping3 arping arp-scan nbtscan hydra sqlmap nikto msfconsole msfvenom aircrack-ng ngrok "
    "cloudflared chisel"
)
_SHELL_SNIFF = words(
    "tcpdump tshark wireshark dumpcap ettercap arpspoof dsniff ngrep bettercap mitmproxy airodump-ng tcpflow"
)
_SHELL_MAIL = frozenset(["mail", "mailx", "sendmail", "mutt", "msmtp", "swaks", "ssmtp", "exim"])
_SHELL_DATABASE = words(
    "mysql mysqldump mysqladmin psql pg_dump mongo mongosh redis-cli sqlcmd clickhouse-client cqlsh influx"
)
_TEXT_TOOLS = words(
    "echo printf grep egrep fgrep rg sed awk gawk test [ [[ true : read export local declare readonly typeset case jq "
    "expr cut tr sort uniq head tail cat tee basename dirname return exit git set let unset xmllint "
    "qrencode pandoc sqlite3 shift eval xargs logger ls python python3 bash sh"
)
_FAR = re.compile(r"^(?:--?[\w-]+=)?(?!file:)[a-z][a-z0-9+.-]*://[\w\[\ue000]", re.IGNORECASE)
_SHELLS = words("sh bash dash zsh ksh ash python python2 python3 perl ruby node php source . eval")


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        yield from _shell_command(script, command)


def _shell_command(script: Script, command: Command) -> Iterator[Finding]:
    name, line, column = command.name, command.line, command.column
    everything = " ".join((*command.args, command.body or ""))
    if (
        any(target.startswith(("/dev/tcp/", "/dev/udp/")) for _, target in command.redirects)
        or "/dev/tcp/" in everything
    ):
        interactive = name in _SHELLS or bool(script.names & _SHELLS)
        yield (REMOTE_SHELL if interactive else SOCKET).at(line, "opens a network connection from the shell", column)
    if METADATA_HOST.search(everything) and name not in ("echo", "printf"):
        yield METADATA.at(line, "asks the cloud's metadata service", column)
    if name in _SHELL_SNIFF:
        yield SNIFF.at(line, f"{name} reads other programs' traffic", column)
    elif name in _SHELL_REQUEST:
        yield from _request(command, everything)
    elif name in _SHELL_SOCKET and not (name == "openssl" and command.words[:1] != ("s_client",)):
        shell_behind = name in ("nc", "ncat", "netcat", "socat") and (
            command.has("-e", "-c") or "exec:" in everything.lower()
        )
        behind = name in ("nc", "ncat", "netcat") and command.before is not None and command.before.name in _SHELLS
        yield (REMOTE_SHELL if shell_behind or behind else SOCKET).at(
            line, f"{name} opens a network connection", column
        )
    elif name in _SHELL_MAIL:
        yield MAIL.at(line, f"{name} sends mail", column)
    elif name in _SHELL_DATABASE:
        yield DATABASE.at(line, f"{name} connects to a database", column)
    elif (
        name == "git"
        and command.words[:1]
        and command.words[0] in ("clone", "pull", "push", "fetch", "ls-remote", "submodule")
    ):
        yield REQUEST.at(line, f"git {command.words[0]} reaches out over the network", column)
    elif name in ("python", "python3", "php", "ruby") and re.search(
        r"http\.server|SimpleHTTPServer|-S\s+\S+:\d+|-run -e httpd|ftplib|pyftpdlib", everything
    ):
        yield LISTEN.at(line, "starts a server", column)
    elif name not in _TEXT_TOOLS and name not in script.functions and any(map(_FAR.match, command.args)):
        yield REQUEST.at(line, f"{name[:40]} is given an address on the network", column)
    if name in _SHELLS:
        before = command.before
        fetched = before is not None and before.name in ("curl", "wget", "nc", "fetch")
        fetched = fetched or bool(
            re.search(r"<\(\s*(?:curl|wget)|\$\((?:curl|wget)|`(?:curl|wget)", _source(script, command))
        )
        if fetched:
            yield RUN_DOWNLOAD.at(line, "runs what it fetches", column)


def _source(script: Script, command: Command) -> str:
    return script.lines[command.line - 1][command.column - 1 :][:400] if 0 < command.line <= len(script.lines) else ""


def _request(command: Command, everything: str) -> Iterator[Finding]:
    words = [word for word in command.args if not word.startswith("-")]
    if command.name in ("scp", "rsync") and not any(":" in word for word in words):
        return
    if (not words and command.name not in ("ftp", "gh") and command.before is None) or command.args in (
        ("--version",),
        ("--help",),
    ):
        return
    uploads = re.findall(r"@(\S+)", everything) + (
        [words[-1]] if command.has("-T", "--upload-file", "--post-file") and words else []
    )
    if any(place(path) in ("secret", "system") for path in [*uploads, *words]):
        yield EXFILTRATE.at(command.line, "sends a secret file away", command.column)
    yield REQUEST.at(command.line, f"{command.name} reaches out over the network", command.column)
