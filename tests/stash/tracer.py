"""Run a piece of work in a child process and kill it at its n-th write, whichever that is.

The child is traced (ptrace): it stops before each system call, and before the n-th one that changes
a file it gets SIGKILL, so that everything before is done and nothing after. The tracer also knows
which files hold bytes that were written and not yet synced when the child says something.

Linux alone. The numbers of the calls belong to the machine: x86-64 and 64-bit ARM are known.
"""

import ctypes
import errno
import functools
import os
import platform
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

_TRACEME, _CONT_TO_SYSCALL, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
_MARK_SYSCALLS, _KILL_WITH_TRACER = 0x1, 0x100000
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_ENTRY = 1

_WRITES = {
    "x86_64": {
        "write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296, "pwritev2": 328, "fsync": 74,
        "fdatasync": 75, "truncate": 76, "ftruncate": 77, "fallocate": 285, "rename": 82,
        "renameat": 264, "renameat2": 316, "unlink": 87, "unlinkat": 263, "open": 2, "openat": 257,
        "mkdir": 83, "mkdirat": 258, "link": 86, "linkat": 265,
    },
    "aarch64": {
        "write": 64, "pwrite64": 68, "writev": 66, "pwritev": 70, "pwritev2": 287, "fsync": 82,
        "fdatasync": 83, "truncate": 45, "ftruncate": 46, "fallocate": 47, "renameat": 38,
        "renameat2": 276, "unlinkat": 35, "openat": 56, "mkdirat": 34, "linkat": 37,
    },
}  # fmt: skip
_NAMES = {number: name for name, number in _WRITES.get(platform.machine(), {}).items()}
_FLAGS_AT = {"open": 1, "openat": 2}  # which argument says whether a file is made
_TO_FILE = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
_SYNCS = ("fsync", "fdatasync")

Work = Callable[[Callable[[str], None]], None]  # it gets the function with which it says a line


class _SyscallInfo(ctypes.Structure):
    """The head of the kernel's `struct ptrace_syscall_info`, as it is at a call's entry."""

    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    )


@dataclass
class Trace:
    """What a child did: its write-like calls by name, its lines, whether it was killed.

    `exit_code` is None if it was killed by us, negative for another signal. `unsynced` holds the
    files that were not synced whenever it said something.
    """

    calls: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    exit_code: int | None = None
    unsynced: set[str] = field(default_factory=set)


def why_not() -> str | None:
    """Return why nothing can be traced here; None if it can."""
    if sys.platform != "linux":
        return f"ptrace is used as on Linux, and this is {sys.platform}"
    if not _NAMES:
        return f"the system calls of {platform.machine()} are not known"
    try:
        run(lambda say: say("here"))
    except OSError as error:
        return f"ptrace is forbidden here: {error.strerror}"
    return None


def run(work: Work, kill_at: int | None = None, *, traced: bool = True) -> Trace:
    """Fork; have the child do `work`, which may say lines; kill it before its n-th write-like call.

    Call it in a process with one thread. Raise OSError where ptrace is forbidden.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _be_the_child(work, writer, traced=traced)
    os.close(writer)
    trace = Trace()
    try:
        if traced:
            _follow(child, writer, kill_at, trace)
    finally:
        with open(reader, encoding="utf-8") as said:
            trace.lines = said.read().splitlines()
    if not traced:
        trace.exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return trace


def _be_the_child(work: Work, writer: int, *, traced: bool) -> None:
    code = 1
    try:
        signal.alarm(60)  # whatever happens, it does not stay
        if traced:
            _ptrace(_TRACEME, 0, 0, 0)
            os.kill(os.getpid(), signal.SIGSTOP)  # until the tracer is ready
        work(lambda line: _write_all(writer, line))
        code = 0
    except BaseException:  # noqa: BLE001 - it may not get back into the parent's code
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _write_all(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())


def _follow(child: int, says_to: int, kill_at: int | None, trace: Trace) -> None:
    """Let the child go from system call to system call until it ends or has to."""
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):  # it could not ask to be traced
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    _ptrace(_SETOPTIONS, child, 0, _MARK_SYSCALLS | _KILL_WITH_TRACER)
    dirty: set[str] = set()
    pass_on = 0  # the signal that the child is to get
    while True:
        _ptrace(_CONT_TO_SYSCALL, child, 0, pass_on)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            trace.exit_code = os.waitstatus_to_exitcode(status)
            return
        stopped_by = os.WSTOPSIG(status)
        pass_on = 0 if stopped_by == _SYSCALL_STOP else stopped_by
        if stopped_by != _SYSCALL_STOP:
            continue
        info = _SyscallInfo()
        _ptrace(_GET_SYSCALL_INFO, child, ctypes.sizeof(info), ctypes.addressof(info))
        name = _name(info)
        if name is None:
            continue
        if name in _TO_FILE and info.arguments[0] == says_to:
            trace.unsynced |= dirty
        elif name in _TO_FILE:
            dirty.add(_path(child, info.arguments[0]))
        elif name in _SYNCS:
            dirty.discard(_path(child, info.arguments[0]))
        trace.calls.append(name)
        if len(trace.calls) == kill_at:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return


def _name(info: _SyscallInfo) -> str | None:
    """Return the name of a write-like call that is about to be made; None for any other stop."""
    name = _NAMES.get(info.number) if info.op == _ENTRY else None
    if name in _FLAGS_AT and not info.arguments[_FLAGS_AT[name]] & os.O_CREAT:
        return None
    return name


def _path(child: int, descriptor: int) -> str:
    return os.readlink(f"/proc/{child}/fd/{descriptor}")


def _ptrace(request: int, pid: int, address: int, data: int) -> None:
    if _libc().ptrace(request, pid, address, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    libc.ptrace.restype = ctypes.c_long
    return libc
