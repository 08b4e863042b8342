"""Host: privileges, kernel, memory below the language, logs and defences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.paths import is_outside
from safety.python_program import Call, Program
from safety.python_values import Ref, as_text, words
from safety.rules.rule import Rule
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

PRIVILEGE = Rule(
    "host.privilege",
    "deny",
    "host",
    "It asks for rights that the sandbox does not have, even with a yes.",
    bad=("#!bash\nsudo ls", "import os\nos.setuid(0)", "#!bash\nmount -t tmpfs x y", "#!bash\nunshare -r sh"),
    good=("#!bash\nls", "import os\nprint(os.getuid())"),
)
DEFENCE = Rule(
    "host.defences",
    "deny",
    "host",
    "It turns off a firewall, a guard or a log.",
    bad=(
        "#!bash\niptables -F",
        "#!bash\nufw disable",
        "#!bash\nsetenforce 0",
        "import time\ntime.clock_settime(time.CLOCK_REALTIME, 0)",
    ),
    good=("#!bash\necho ufw",),
)
MEMORY = Rule(
    "host.raw-memory",
    "ask",
    "host",
    "It reads or writes memory below the language, where a wrong length overruns a buffer.",
    bad=(
        "import ctypes\nb = ctypes.create_string_buffer(4)\nctypes.memmove(b, b'x' * 64, 64)",
        "import ctypes\nctypes.string_at(0)",
        "import ctypes\nctypes.CDLL(None).strcpy",
        "#!bash\ngcc -fno-stack-protector -z execstack a.c",
    ),
    good=("import ctypes\nclass P(ctypes.Structure):\n    _fields_ = [('x', ctypes.c_int)]",),
)
INSPECT = Rule(
    "host.inspect",
    "ask",
    "host",
    "It looks at the machine's load, memory, network, disks, users or hardware, or at what others do to its files.",
    bad=(
        "#!bash\nifconfig -a",
        "#!bash\nlsblk",
        "#!bash\ndmesg",
        "import psutil\npsutil.virtual_memory()",
        "#!bash\nfree -m",
        "import os\nos.getloadavg()",
        "from watchdog.observers import Observer\nObserver().schedule(None, 'x')",
    ),
    good=(
        "#!bash\nuname -s",
        "#!bash\ndf -h .",
        "import platform\nplatform.system()",
        "import psutil\npsutil.Process().memory_info()",
    ),
)
CONTAINER = Rule(
    "host.containers",
    "deny",
    "host",
    "It starts or enters containers or other machines.",
    bad=("#!bash\ndocker run -v /:/h alpine", "#!bash\nkubectl get secrets"),
    good=("#!bash\necho docker",),
)
RULES = (PRIVILEGE, DEFENCE, MEMORY, INSPECT, CONTAINER)

_PRIVILEGE = words(
    "sudo doas su pkexec mount umount insmod rmmod modprobe chroot unshare nsenter setcap capsh "
    "pivot_root kexec losetup swapon swapoff cryptsetup mknod newgrp sg runuser gksudo setpriv"
)
_DEFENCE = words(
    "iptables ip6tables nft ufw firewall-cmd setenforce auditctl aa-disable aa-teardown sysctl chattr "
    "timedatectl hwclock logrotate auditd fail2ban-client semanage apparmor_parser"
)
_INSPECT = words(
    "ifconfig ip iwconfig iwlist arp route lsblk blkid fdisk dmesg lspci lsusb lshw dmidecode hwinfo "
    "lsmod journalctl mount findmnt getcap lscpu numactl nmcli resolvectl netplan ethtool smartctl inxi "
    "hostnamectl ipcs sar iostat free uptime vmstat mpstat df inotifywait inotifywatch fswatch incron watch "
    "dstat nload bmon slabtop nmon perf turbostat sensors nvidia-smi acpi iw vnstat collectl blockdev"
)
_CONTAINER = words(
    "docker podman kubectl crictl ctr nerdctl lxc lxc-attach virsh vagrant helm docker-compose minikube "
    "qemu-system-x86_64 buildah runc"
)
_COMPILERS = words("gcc g++ cc c++ clang clang++ tcc")
_UNGUARDED = re.compile(r"-fno-stack-protector|execstack|-D_?FORTIFY_SOURCE=0|-fno-pie|-no-pie|-U_FORTIFY_SOURCE")
_MEMORY = re.compile(
    r"^ctypes\.(?:memmove|memset|string_at|wstring_at|cast|pythonapi\.|windll\.|cdll\.LoadLibrary|CDLL"
    r"|PyDLL|WinDLL|util\.find_library|\w+\.from_address|\w+\.from_buffer|py_object\.from_address"
    r"|CFUNCTYPE\(\)\(|\w+\(\)\.from_address)"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        yield from _call(call)


def _call(call: Call) -> Iterator[Finding]:
    name = call.name
    if re.match(
        r"^os\.(?:set(?:e|re|res)?[ug]id|setgroups|initgroups|chroot|unshare|setns|pivot_root|setresuid"
        r"|sched_setscheduler|mount)$",
        name,
    ):
        yield PRIVILEGE.at(call.line, "changes the rights it runs with", call.column)
    elif name in ("time.clock_settime", "time.clock_settime_ns", "socket.sethostname", "os.reboot"):
        yield DEFENCE.at(call.line, "changes the machine's clock or name", call.column)
    elif _MEMORY.match(name) or (
        name.startswith(("cffi.FFI().dlopen", "_ctypes.", "gc.get_objects")) and "gc" not in name
    ):
        yield MEMORY.at(call.line, f"works on raw memory or foreign libraries ({name.split('(')[0]})", call.column)
    elif re.match(
        r"^(?:psutil\.(?:net_if_|net_io|disk_|boot_time|sensors_|win_|virtual_memory|swap_memory|cpu_(?:percent|times|stats|freq)|getloadavg)|os\.getloadavg|watchdog\.observers\.[\w.]*\(\)\.schedule$|pyinotify\.|inotify(?:_simple)?\.|watchfiles\.|watchgod\.|pynvml\.|py3nvml\.|nvidia_smi\.|speedtest\.|pyshark\.|netifaces\.|wmi\.|cpuinfo\."
        r"|GPUtil\.|uuid\.getnode$|getmac\.|nmcli\.|scapy\.)",
        name,
    ):
        yield INSPECT.at(call.line, "looks at the machine's hardware or network", call.column)
    elif name in (
        "resource.setrlimit",
        "resource.prlimit",
        "signal.pthread_kill",
        "os.sched_setaffinity",
        "os.setpriority",
    ):
        raises = any(
            isinstance(value, tuple)
            and any((isinstance(item, Ref) and "INFINITY" in item.name) or as_text(item) == "-1" for item in value)
            for value in call.argument(1)
        )
        if raises or name == "resource.prlimit":
            yield PRIVILEGE.at(call.line, "raises its own limits", call.column)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        yield from _command(command)


_C_SOURCE = re.compile(r"\.(?:c|cc|cpp|cxx|h)$")
_OVERRUNS = re.compile(r"\bgets\s*\(|\bstrcpy\s*\([^;]{0,80}(?:argv|v\[|getenv|input)|\bscanf\s*\(\s*\\?\"%s")


def _command(command: Command) -> Iterator[Finding]:
    name, line, column = command.name, command.line, command.column
    if any(">" in operator and _C_SOURCE.search(target) for operator, target in command.redirects):
        text = command.body if command.body is not None else " ".join(command.args)
        if _OVERRUNS.search(text[:20_000]):
            yield MEMORY.at(line, "writes a program whose buffer is overrun by a long input", column)
    if name == "mount" and not command.args:
        yield INSPECT.at(line, "lists what is mounted", column)
    elif name in _PRIVILEGE:
        yield PRIVILEGE.at(line, f"{name} asks for rights that the sandbox does not have, even with a yes", column)
    elif name in _DEFENCE:
        yield DEFENCE.at(line, f"{name} changes the machine's defences or settings", column)
    elif name == "ulimit" and "unlimited" in command.args:
        yield DEFENCE.at(line, "lifts its own limits", column, "ask")
    elif name in _CONTAINER:
        yield CONTAINER.at(line, f"{name} starts or enters containers or machines", column)
    elif name in _COMPILERS and _UNGUARDED.search(" ".join(command.args)):
        yield MEMORY.at(line, f"{name} leaves out the guards against overrun buffers", column)
    elif name == "df" and command.words and not any(is_outside(word) for word in command.words):
        return
    elif name in _INSPECT:
        yield INSPECT.at(line, f"{name} looks at the machine", column)
    elif name == "date" and command.has("-s", "--set"):
        yield DEFENCE.at(line, "sets the machine's clock", column)
    elif name in ("hostname", "domainname") and command.words:
        yield DEFENCE.at(line, f"{name} renames the machine", column)
