"""The filter that each block puts on itself before it starts: nothing that changes or signals the supervisor.

Capabilities are gone and the supervisor is not dumpable, but it runs as the same user as the blocks, so the kernel
would let them renice it, pin it, cap its descriptors and signal it. PID 1 is the supervisor.
"""

from __future__ import annotations

import ctypes
import os
import struct

_SUPERVISOR = 1

# For each system call: its numbers on x86_64 and aarch64, and the argument values that are refused, as
# (argument, value). No values: the call is refused whatever its arguments.
# setpriority and ioprio_set by user would reach the supervisor too; so would a signal through a descriptor of /proc/1.
_REFUSED: dict[str, tuple[int, int, tuple[tuple[int, int], ...]]] = {
    "kill": (62, 129, ((0, _SUPERVISOR),)),
    "tkill": (200, 130, ((0, _SUPERVISOR),)),
    "tgkill": (234, 131, ((0, _SUPERVISOR), (1, _SUPERVISOR))),
    "rt_sigqueueinfo": (129, 138, ((0, _SUPERVISOR),)),
    "rt_tgsigqueueinfo": (297, 240, ((0, _SUPERVISOR), (1, _SUPERVISOR))),
    "pidfd_open": (434, 434, ((0, _SUPERVISOR),)),
    "pidfd_send_signal": (424, 424, ()),
    "prlimit64": (302, 261, ((0, _SUPERVISOR),)),
    "setpriority": (141, 140, ((0, 2), (1, _SUPERVISOR))),
    "ioprio_set": (251, 30, ((0, 3), (1, _SUPERVISOR))),
    "sched_setparam": (142, 118, ((0, _SUPERVISOR),)),
    "sched_setscheduler": (144, 119, ((0, _SUPERVISOR),)),
    "sched_setaffinity": (203, 122, ((0, _SUPERVISOR),)),
    "sched_setattr": (314, 274, ((0, _SUPERVISOR),)),
    # Its worker threads would be the kernel's, and its requests pass by the rest of this list.
    "io_uring_setup": (425, 425, ()),
    "ptrace": (101, 117, ((1, _SUPERVISOR),)),
    "process_vm_readv": (310, 270, ((0, _SUPERVISOR),)),
    "process_vm_writev": (311, 271, ((0, _SUPERVISOR),)),
    "migrate_pages": (256, 238, ((0, _SUPERVISOR),)),
    "move_pages": (279, 239, ((0, _SUPERVISOR),)),
}

# What the engine's filter and missing capabilities refuse elsewhere, and gVisor's own kernel would not. What the first
# three make could not be listed there, and so not removed after the block; in a namespace no limit of processes holds.
_GVISOR: dict[str, tuple[int, int, tuple[tuple[int, int], ...]]] = {
    "shmget": (29, 194, ()),
    "semget": (64, 190, ()),
    "msgget": (68, 186, ()),
    "unshare": (272, 97, ()),
    "setns": (308, 268, ()),
}
_CLONE_NEW = 0x7E020000  # all of CLONE_NEW* of linux/sched.h
_DEVICE = 0x2000  # the bit of S_IFCHR and S_IFBLK that a FIFO, a socket and a regular file have not
_NONE = 0xFFFFFFFF
# Numbers as above, and the argument in which none of the bits may be set.
_GVISOR_BITS: dict[str, tuple[int, int, int, int]] = {
    "clone": (56, 220, 0, _CLONE_NEW),
    "mknod": (133, _NONE, 1, _DEVICE),
    "mknodat": (259, 33, 2, _DEVICE),
}
_CLONE3 = 435  # its flags are in memory, out of reach: not there at all, so that clone is called

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Name -> (AUDIT_ARCH value of linux/audit.h, column of the call's number)."""

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _NOT_THERE = 0x7FFF0000, 0x00050001, 0x00050026  # SECCOMP_RET_ALLOW; _ERRNO with EPERM, with ENOSYS
_X32_BIT = 0x40000000
_PR_SET_SECCOMP, _FILTER_MODE = 22, 2

libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def build(machine: str, gvisor: bool = False) -> bytes:
    """The filter as classic BPF. `gvisor`: with what its kernel would permit: System V memory, namespaces, devices.

    Raises `KeyError` for an architecture that it is not written for.
    """
    architecture, column = _ARCHITECTURES[machine]
    code = [
        _instruction(_LOAD, 4),  # seccomp_data.arch
        _instruction(_JUMP_EQUAL, architecture, 1, 0),
        _instruction(_RETURN, _REFUSE),
        _instruction(_LOAD, 0),  # seccomp_data.nr
        _instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1),
        _instruction(_RETURN, _REFUSE),
    ]
    for on_x86_64, on_aarch64, refused in (*_REFUSED.values(), *(_GVISOR.values() if gvisor else ())):
        code += _rule((on_x86_64, on_aarch64)[column], refused)
    if gvisor:
        code += [_instruction(_JUMP_EQUAL, _CLONE3, 0, 1), _instruction(_RETURN, _NOT_THERE)]
        for on_x86_64, on_aarch64, argument, bits in _GVISOR_BITS.values():
            code += _bits_rule((on_x86_64, on_aarch64)[column], argument, bits)
    return b"".join([*code, _instruction(_RETURN, _ALLOW)])


def _rule(number: int, refused: tuple[tuple[int, int], ...]) -> list[bytes]:
    if not refused:
        return [_instruction(_JUMP_EQUAL, number, 0, 1), _instruction(_RETURN, _REFUSE)]
    body: list[bytes] = []
    for argument, value in refused:
        # Process identifiers are 32 bits wide: the low half, first on both (little-endian) architectures.
        body += [
            _instruction(_LOAD, 16 + 8 * argument),
            _instruction(_JUMP_EQUAL, value, 0, 1),
            _instruction(_RETURN, _REFUSE),
        ]
    body.append(_instruction(_RETURN, _ALLOW))
    return [_instruction(_JUMP_EQUAL, number, 0, len(body)), *body]


def _bits_rule(number: int, argument: int, bits: int) -> list[bytes]:
    return [
        _instruction(_JUMP_EQUAL, number, 0, 4),
        _instruction(_LOAD, 16 + 8 * argument),
        _instruction(_JUMP_ANY_BIT, bits, 0, 1),
        _instruction(_RETURN, _REFUSE),
        _instruction(_RETURN, _ALLOW),
    ]


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


class Filter:
    """The filter, made ready before a fork so that the child only has to install it."""

    def __init__(self, gvisor: bool = False) -> None:
        instructions = build(os.uname().machine, gvisor)
        self._program = _Program(len(instructions) // 8, instructions)

    def install(self) -> None:
        """Put it on this process for good; needs no-new-privileges. Raises `OSError`."""
        if libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(self._program), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp filter refused")
