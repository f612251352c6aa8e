"""What an agent's process tries that has the host's own uid, and no passphrase:
`pry.py PID HOME HTTP TOKEN WAITS DONE WORD...`. It prints what came of each, as one JSON object.

`PID` is the host; `WAITS` waits for a person's word, `DONE` has a record; the words are looked for in files.
"""

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys

PTRACE_ATTACH, PTRACE_DETACH = 16, 17
PIDFD_GETFD = 438

libc = ctypes.CDLL(None, use_errno=True)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def checked(returned):
    if returned < 0:
        raise OSError(ctypes.get_errno(), "")
    return returned


def attach(pid):
    ptrace = libc.ptrace
    ptrace.restype, ptrace.argtypes = ctypes.c_long, [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    checked(ptrace(PTRACE_ATTACH, pid, None, None))
    os.waitpid(pid, 0x40000000)
    checked(ptrace(PTRACE_DETACH, pid, None, None))
    os.kill(pid, signal.SIGCONT)


def read_memory(pid):
    here = ctypes.create_string_buffer(8)
    local, remote = Iovec(ctypes.addressof(here), 8), Iovec(0x1000, 8)
    try:
        checked(libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))
    except OSError as error:
        # Nothing is there: it would have been read.
        if error.errno != errno.EFAULT:
            raise


def steal(pid):
    os.close(checked(libc.syscall(PIDFD_GETFD, os.pidfd_open(pid), 0, 0)))


def opened(pid, name):
    os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))


def tried(attempt):
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"


def process(pid):
    came = {name: tried(lambda: opened(pid, name)) for name in ["mem", "environ", "maps", "auxv"]}
    came["fd"] = tried(lambda: os.listdir(f"/proc/{pid}/fd"))
    came["exe"] = tried(lambda: os.readlink(f"/proc/{pid}/exe"))
    came["ptrace"] = tried(lambda: attach(pid))
    came["process_vm_readv"] = tried(lambda: read_memory(pid))
    came["pidfd_getfd"] = tried(lambda: steal(pid))
    return came


def ask(where, method, path, credential, body):
    if ":" in where:
        host, port = where.split(":")
        stream = socket.create_connection((host, int(port)))
    else:
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(where)
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
    if credential:
        head += f"authorization: Bearer {credential}\r\n"
    stream.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
    answer = b""
    while more := stream.recv(65536):
        answer += more
    return [int(answer.split(b" ", 2)[1]), answer.split(b"\r\n\r\n", 1)[1].decode()]


def doors(home, http, token, waits, done):
    about = "sha256:" + "0" * 64
    asks = {
        "/v1/approvals": {"id": waits},
        "/v1/approvals/approve": {"id": waits, "about": about, "reach": "usual"},
        "/v1/approvals/deny": {"id": waits},
        "/v1/inspect": {"id": done},
        "/v1/timeline": {"id": done},
        "/v1/unknowns": {},
        f"/v1/invocations/{waits}/approve": {},
        f"/v1/invocations/{done}/inspect": {},
        f"/v1/invocations/{done}/timeline": {},
    }
    came = []
    for where in [f"{home}/operator.sock", f"{home}/agent.sock", http]:
        for shown in [None, "ppo_" + "a" * 52, token]:
            for path, body in asks.items():
                came.append([where, shown, path, *ask(where, "POST", path, shown, json.dumps(body))])
    return came


def files(home, words):
    """Which files can be read, and which of the words are in them."""
    found = {}
    for folder, _, names in os.walk(home):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                content = file.read()
            found[os.path.relpath(path, home)] = [word for word in words if word.encode() in content]
    return found


pid, home, http, token, waits, done, *words = sys.argv[1:]
# What can be done to a process of the same user that does not protect itself.
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(
    json.dumps(
        {
            "child": process(child.pid),
            "host": process(int(pid)),
            "core": [line.split()[4:6] for line in open(f"/proc/{pid}/limits") if line.startswith("Max core file")],
            "doors": doors(home, http, token, waits, done),
            "own": ask(http, "GET", f"/v1/invocations/{done}", token, ""),
            "files": files(home, words),
        }
    )
)
child.kill()
