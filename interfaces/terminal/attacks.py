"""The ten abuse cases of `doctor --attack`: what each does inside, and how it is told that it was contained.

A program prints `ESCAPED` and what it reached where it gets out. What it cannot know itself is judged from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.base import ExecutionResult
from sandbox.policy import SandboxPolicy
from sessions.redaction import Redactor

MARK = "ESCAPED"
PROMPT_S = 1.5
"""A block whose own process has ended must be over within this time, whatever it left behind; seconds."""


@dataclass(frozen=True)
class Scene:
    """What the judges know of the world outside."""

    policy: SandboxPolicy
    environ: dict[str, str]
    work_dir: Path
    visitors: Callable[[], int]
    """How many connections the host's own service got so far."""
    port: int
    """Of the host's own service."""
    addresses: tuple[str, ...]
    """Of this machine."""


Judge = Callable[[ExecutionResult, Scene], str]
"""Returns what was not contained; empty where all was."""


@dataclass(frozen=True)
class Attack:
    """One abuse case."""

    name: str
    language: str
    code: str
    """May hold `@PORT@` and `@ADDRESSES@`, see `Scene`."""
    judge: Judge
    contained: Callable[[ExecutionResult], str]
    """How it ended, in a few words."""


def _last_line(result: ExecutionResult) -> str:
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    return lines[-1][:70] if lines else f"exit {result.exit_code}"


def _by_itself(result: ExecutionResult, scene: Scene) -> str:
    """The program itself says whether it got out; one that did not get to its last line proves nothing."""
    if MARK in result.output:
        return next(line.strip() for line in result.output.splitlines() if MARK in line)
    return "" if result.exit_code == 0 else f"the attack itself failed, so nothing is shown: {_last_line(result)}"


def _forks(result: ExecutionResult, scene: Scene) -> str:
    words = result.output.split()
    count = int(words[-1]) if words and words[-1].isdigit() else None
    if count is None:
        return "" if result.exit_code != 0 else "the bomb was not counted"
    return "" if count <= scene.policy.pids else f"{count} processes, {scene.policy.pids} are allowed"


def _memory(result: ExecutionResult, scene: Scene) -> str:
    # A sandbox with much memory may be at its time limit first: it has not got more than its limit either.
    return "" if result.oom or result.timed_out else f"it did not end as out of memory: {_last_line(result)}"


def _output(result: ExecutionResult, scene: Scene) -> str:
    kept = len(result.output.encode("utf-8", "replace"))
    limit = scene.policy.output_kib * 1024
    if kept > limit * 1.1 + 4096:
        return f"{kept} bytes were kept, {limit} are allowed"
    return "" if result.truncated and result.timed_out else "it was not cut, or not stopped"


def _environment(result: ExecutionResult, scene: Scene) -> str:
    if Redactor.from_environ(scene.environ).holds_secret(result.output.encode("utf-8", "replace")):
        return "a key of this machine is inside"
    let_in = {*scene.policy.env, "PATH", "HOME", "LANG", "USER", "SHELL", "TZ", "PWD", "LC_ALL", "TERM", "SHLVL", "_"}
    seen = [
        name
        for name, value in scene.environ.items()
        if name not in let_in and len(value) > 5 and f"{name}={value}" in result.output
    ]
    return f"variables of this machine are inside: {', '.join(seen)}" if seen else _by_itself(result, scene)


def _services(result: ExecutionResult, scene: Scene) -> str:
    return "a service of this machine was reached" if scene.visitors() else _by_itself(result, scene)


def _paths(result: ExecutionResult, scene: Scene) -> str:
    link = scene.work_dir / "attack_link"
    if link.is_symlink() or link.exists():
        return "a link came back to this machine"
    if any((scene.work_dir / place / "attack_escaped").exists() for place in ("..", "../..", "/")):
        return "a file came back outside the work directory"
    return _by_itself(result, scene)


def _daemon(result: ExecutionResult, scene: Scene) -> str:
    if result.duration_s > PROMPT_S:
        return f"the block was held up for {result.duration_s:.1f} s"
    return _by_itself(result, scene)


FORK_BOMB = """
import os, time
count = 0
try:
    while count < 200_000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except OSError:
    pass
print("processes until the limit:", count)
"""

MEMORY_BOMB = """
held = []
while True:
    held.append(b"x" * (16 << 20))
"""

ENDLESS_OUTPUT = "exec yes 'no end to this'"

ENVIRONMENT = """
import glob, os
for path in ["/proc/self/environ", *glob.glob("/proc/[0-9]*/environ")]:
    try:
        print(open(path, "rb").read().decode("utf-8", "replace").replace("\\0", "\\n"))
    except OSError:
        pass
for path in ("/root/.ssh", "/root/.aws", "/root/.bashrc", "/run/secrets", "/var/run/docker.sock"):
    try:
        os.stat(path)
        if path.endswith(".bashrc"):
            open(path).close()
        print("ESCAPED", path, "is there")
    except OSError:
        pass
print("no key, no home, no socket of this machine")
"""

METADATA = """
import socket
for address in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254"):
    try:
        socket.create_connection((address, 80), 0.4)
        print("ESCAPED to", address)
    except OSError:
        pass
print("no such address answers")
"""

SERVICES = """
import socket
for address in "@ADDRESSES@".split():
    for port in (@PORT@, 22, 2375, 2376):
        try:
            socket.create_connection((address, port), 0.15)
            print("ESCAPED to", address, port)
        except OSError:
            pass
try:
    socket.getaddrinfo("example.com", 80)
    print("ESCAPED: a name was looked up")
except OSError:
    pass
print("no address of this machine answers, nor a name server")
"""

PATHS = """
import os
os.symlink("/etc/passwd", "attack_link")
up = "../" * 20
places = ("/", "/etc/", "/usr/lib/", "/opt/", "/var/", "/proc/1/root/", "/sys/fs/cgroup/", "/dev/", up, up + "etc/")
for place in places:
    try:
        open(place + "attack_escaped", "w").close()
        print("ESCAPED: wrote", place)
    except OSError:
        pass
for path in ("/proc/kcore", "/dev/mem", "/dev/sda", "/dev/kmsg", "/proc/sysrq-trigger", "/proc/1/mem", "/etc/shadow"):
    try:
        open(path, "rb").read(1)
        print("ESCAPED: read", path)
    except OSError:
        pass
os.unlink("attack_link")
os.symlink("/etc/passwd", "attack_link")
print(len(places), "places refused, a link left for this machine to follow")
"""

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(120)
    os._exit(0)
print("a daemon of its own session was left behind, holding the output")
"""

SUPERVISOR = """
import os, resource, signal
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP, signal.SIGUSR1):
    try:
        os.kill(1, number)
    except OSError:
        pass
for attempt in (
    lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)),
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    lambda: os.sched_setaffinity(1, {0}),
):
    try:
        attempt()
    except OSError:
        pass
for path in ("/proc/1/mem", "/proc/1/fd/0", "/proc/1/fd/1"):
    try:
        with open(path, "r+b", buffering=0) as file:
            file.write(b"\\0\\0\\0\\1")
            print("ESCAPED into", path)
    except OSError:
        pass
print("signals, limits and memory of the supervisor tried")
"""

SETUID = """
import ctypes, os, subprocess
try:
    os.setuid(0)
    print("ESCAPED: root by setuid")
except OSError:
    pass
for command in ("su -c id", "sudo -n id", "mount -t tmpfs none /mnt", "unshare -Ur id"):
    try:
        done = subprocess.run(command.split(), capture_output=True, stdin=subprocess.DEVNULL, timeout=2)
    except (OSError, subprocess.TimeoutExpired):
        continue
    if done.returncode == 0:
        print("ESCAPED by", command)
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000) == 0:
    print("ESCAPED into a user namespace")
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
    print("ESCAPED: mounted")
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
if int(status["CapBnd"], 16) or os.getuid() == 0:
    print("ESCAPED: capabilities or root")
print("still user", os.getuid(), "without any capability")
"""


def _limit(result: ExecutionResult) -> str:
    return f"killed at the {'memory' if result.oom else 'time'} limit"


def _says(words: str) -> Callable[[ExecutionResult], str]:
    return lambda result: words


def _count_or_limit(result: ExecutionResult) -> str:
    return _limit(result) if result.timed_out else _last_line(result)


ATTACKS: tuple[Attack, ...] = (
    Attack("fork bomb", "python", FORK_BOMB, _forks, _count_or_limit),
    Attack("memory bomb", "python", MEMORY_BOMB, _memory, _limit),
    Attack("endless output", "bash", ENDLESS_OUTPUT, _output, _says("cut, and stopped at the time limit")),
    Attack("stolen environment", "python", ENVIRONMENT, _environment, _last_line),
    Attack("metadata address", "python", METADATA, _by_itself, _last_line),
    Attack("host's services", "python", SERVICES, _services, _last_line),
    Attack("escape by path", "python", PATHS, _paths, _last_line),
    Attack("daemon", "python", DAEMON, _daemon, _says("gone with the block, which was not held up")),
    Attack("killed supervisor", "python", SUPERVISOR, _by_itself, _last_line),
    Attack("setuid", "python", SETUID, _by_itself, _last_line),
)
