#!/usr/bin/python3 -I
"""The first process of a machine: makes the system one that carboy can run on, and runs the test in it.

What the test writes to OUT goes to the console in base64, line by line behind a mark, because the kernel
writes there too; the lines that the test prints go as they are.
"""

import base64
import ctypes
import os
import subprocess
import time

OUT = "/run/test/out"
USER = 1000
MS_BIND, MS_MOVE = 4096, 8192
POWER_OFF = 0x4321FEDC

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    words = [word.encode() for word in (source, target, kind, data)]
    if libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def leave_rootfs() -> None:
    """Puts the root file system over itself as an ordinary mount: what is at the very bottom of all mounts
    cannot be pivoted away from, and full walls do that.
    """
    mount("/", "/mnt", flags=MS_BIND)
    os.chdir("/mnt")
    mount(".", "/", flags=MS_MOVE)
    os.chroot(".")
    os.chdir("/")


def delegate() -> None:
    """Hands a part of the tree of control groups to the user, and goes there: only root may."""
    top = "/sys/fs/cgroup"
    mount("cgroup2", top, "cgroup2")
    for group in ("delegated", "delegated/test"):
        with open(f"{top}/{os.path.dirname(group)}/cgroup.subtree_control", "w") as file:
            file.write("+memory +pids +cpu")
        os.mkdir(f"{top}/{group}")
    for folder, _, names in os.walk(f"{top}/delegated"):
        os.chown(folder, USER, USER)
        for name in names:
            os.chown(os.path.join(folder, name), USER, USER)
    with open(f"{top}/delegated/test/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))


def main() -> None:
    """Starts, tests, and switches the machine off."""
    leave_rootfs()
    mount("proc", "/proc", "proc")
    mount("sysfs", "/sys", "sysfs")
    mount("devtmpfs", "/dev", "devtmpfs")
    os.makedirs("/dev/shm", exist_ok=True)
    mount("tmpfs", "/dev/shm", "tmpfs", data="mode=1777")
    os.makedirs(os.path.dirname(OUT), exist_ok=True)
    for folder in (os.path.dirname(OUT), "/home/user"):
        os.chown(folder, USER, USER)
    with open("/proc/cmdline") as file:
        words = dict(word.split("=", 1) for word in file.read().split() if "=" in word)
    command = base64.b64decode(words["test"]).decode().split("\0")
    user = int(words.get("user", USER))
    with open("/proc/uptime") as file:
        print(f"@@ booted {file.read().split()[0]}", flush=True)
    delegate()
    started = time.monotonic()
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        user=user,
        group=user,
        extra_groups=[],
        cwd="/home/user" if user else "/root",
        env={"PATH": "/usr/bin", "HOME": "/home/user" if user else "/root", "LANG": "C.UTF-8"},
    )
    if os.path.exists(OUT):
        with open(OUT, "rb") as out:
            for line in base64.encodebytes(out.read()).decode().splitlines():
                print(f"@@ out {line}")
    print(f"@@ ended {done.returncode} {time.monotonic() - started:.1f}", flush=True)


try:
    main()
except BaseException as error:
    print(f"@@ failed {error!r}", flush=True)
finally:
    os.sync()
    # The console has sent everything when the port is drained.
    try:
        import termios

        termios.tcdrain(1)
    except OSError:
        pass
    libc.reboot(ctypes.c_int(POWER_OFF))
    time.sleep(60)
