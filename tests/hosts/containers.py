#!/usr/bin/env python3
"""Tries carboy in containers as people configure them, with runc and without a registry.

    tests/containers [--write] [ROW]...
    tests/containers --image FOLDER:TAG [--write]
    tests/containers --profile > deploy/seccomp.json

Each row is an OCI bundle: a root with this host's /usr in it, the capabilities, masked paths and filter that
Docker or Kubernetes would give it, and `battery.py` as its process. A row fails if walls that it demands do
not hold there. With `--image`, the rows are those of an image that `deploy/image` made, unpacked by umoci,
with the program that is in it. `--write` keeps what the rows found in tests/hosts/results; `--profile` prints
the profile that we ship, made of the same rules. Must be root; CARBOY_TEST_PROGRAM names the program.
Everything that is started or mounted ends with it.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
# Podman's rules, from Debian's package golang-github-containers-common.
RULES = Path("/usr/share/containers/seccomp.json")
# How long one row may take.
SECONDS = 240

# What Docker leaves to the root of a container.
CAPABILITIES = (
    "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE "
    "SYS_CHROOT KILL AUDIT_WRITE"
).split()
# What Podman's rules allow and Docker's do not, to who lacks CAP_SYS_ADMIN.
PRIVILEGED = (
    "bpf fanotify_init fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree "
    "perf_event_open quotactl setdomainname sethostname setns syslog umount umount2 unshare "
    "get_mempolicy keyctl mbind pivot_root reboot set_mempolicy sysfs ustat"
).split()
# Docker allows them no more since version 25, whatever Podman's file says.
RINGS = ["io_uring_enter", "io_uring_register", "io_uring_setup"]
# What full walls call beside what Docker allows.
WALLS = (
    "chroot clone clone3 fsconfig fsmount fsopen mount mount_setattr move_mount open_tree pivot_root "
    "sethostname umount2"
).split()
PROFILE = TREE / "deploy/seccomp.json"
# What Docker calls a machine, and the interfaces of its kernel as libseccomp names them.
MACHINES = {
    "x86_64": ("amd64", ("SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32")),
    "aarch64": ("arm64", ("SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM")),
}
# CLONE_NEW*, every kind.
NAMESPACES = 0x7E020000
MASKED = (
    "/proc/asound /proc/acpi /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats /proc/timer_list "
    "/proc/timer_stats /proc/sched_debug /proc/scsi /sys/firmware /sys/devices/virtual/powercap"
).split()
READ_ONLY = "/proc/bus /proc/fs /proc/irq /proc/sys /proc/sysrq-trigger".split()


@dataclass(frozen=True)
class Row:
    """One way to configure a container, and the walls that must stand in it."""

    name: str
    host: str
    demand: tuple[str, ...]
    uid: int = 1000
    capabilities: tuple[str, ...] = tuple(CAPABILITIES)
    # Docker's default, "none", or "ours": the profile in deploy/.
    seccomp: str = "docker"
    no_new_privileges: bool = False
    # A root that cannot be written, and a /tmp in which nothing can be executed.
    read_only: bool = False
    # The root is that of the image, with all that is in it.
    image: bool = False


ROWS = (
    Row("docker-root", "Docker's default, root", ("nested",), uid=0),
    Row("docker-user", "Docker's default, user 1000", ("nested",)),
    Row(
        "kubernetes-restricted",
        "Kubernetes, Pod Security Standard `restricted`",
        ("nested",),
        capabilities=(),
        no_new_privileges=True,
    ),
    Row(
        "read-only-root",
        "Docker's default, read-only root, noexec /tmp",
        ("nested",),
        read_only=True,
    ),
    Row(
        "root-no-capabilities", "Docker, root, `cap_drop: ALL`", ("nested",), uid=0, capabilities=()
    ),
    Row(
        "seccomp-unconfined",
        "Docker, `seccomp=unconfined`, root",
        ("full", "nested"),
        uid=0,
        seccomp="none",
    ),
    Row(
        "profile-root",
        "Docker, `seccomp=deploy/seccomp.json`, root",
        ("full",),
        uid=0,
        seccomp="ours",
    ),
    Row(
        "profile-restricted",
        "Kubernetes `restricted` with deploy/seccomp.json, read-only root",
        ("full", "nested"),
        capabilities=(),
        seccomp="ours",
        no_new_privileges=True,
        read_only=True,
    ),
)

IMAGE_ROWS = (
    Row("image-root", "deploy/image, Docker's default, root", ("nested",), uid=0, image=True),
    Row("image-user", "deploy/image, Docker's default, user 1000", ("nested",), image=True),
    Row(
        "image-profile",
        "deploy/image, deploy/seccomp.json, user 1000",
        ("full", "nested"),
        seccomp="ours",
        image=True,
    ),
)


def docker_rules(bound: tuple[str, ...], machines: tuple[str, ...] = ()) -> dict[str, Any]:
    """Docker's default filter for a container with these capabilities, made of Podman's; for this machine,
    or for several in one. A rule for one of them names calls that the others do not have.
    """
    rules = json.loads(RULES.read_text())
    machines = machines or (platform.machine(),)
    here = {MACHINES[machine][0] for machine in machines}
    held = {f"CAP_{name}" for name in bound}
    taken = {*RINGS, *PRIVILEGED, "clone", "clone3"}
    calls: list[dict[str, Any]] = []
    for rule in rules["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        applies = (
            rule["action"] == "SCMP_ACT_ALLOW"
            and here & set(includes.get("arches", here))
            and set(includes.get("caps", ())) <= held
            and not set(excludes.get("caps", ())) & held
        )
        names = [name for name in rule["names"] if name not in taken]
        if applies and names:
            kept = {"names": names, "action": rule["action"]}
            calls.append({**kept, "args": rule["args"]} if rule.get("args") else kept)
    plain = {"index": 0, "value": NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    calls.append({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [plain]})
    calls.append({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38})
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "architectures": [name for machine in machines for name in MACHINES[machine][1]],
        "syscalls": calls,
    }


def own_rules() -> dict[str, Any]:
    """What we ship: Docker's default for a container without capabilities, and what full walls call. It is
    one file for every machine: containerd reads no rules that depend on the architecture.
    """
    rules = docker_rules((), tuple(MACHINES))
    rules["syscalls"] = [
        rule for rule in rules["syscalls"] if rule["names"][0] not in ("clone", "clone3")
    ]
    rules["syscalls"].append({"names": WALLS, "action": "SCMP_ACT_ALLOW"})
    return rules


def bundle(row: Row, folder: Path, program: Path, command: list[str]) -> dict[str, Any]:
    """The configuration of a row; `folder` is its bundle."""
    names = [f"CAP_{name}" for name in row.capabilities]
    held = names if row.uid == 0 else []

    def mount(target: str, kind: str, *options: str, source: str | None = None) -> dict[str, Any]:
        return {
            "destination": target,
            "type": kind,
            "source": source or kind,
            "options": ["nosuid", *options],
        }

    def bind(source: Path, target: str, *options: str) -> dict[str, Any]:
        return mount(target, "bind", "rbind", "nodev", *options, source=str(source))

    mounts = [
        mount("/proc", "proc", "noexec", "nodev"),
        mount("/dev", "tmpfs", "strictatime", "mode=755", "size=65536k"),
        mount("/dev/pts", "devpts", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"),
        mount("/dev/shm", "tmpfs", "noexec", "nodev", "mode=1777", "size=65536k"),
        mount("/sys", "sysfs", "noexec", "nodev", "ro"),
        bind(HERE, "/opt/battery", "ro"),
        bind(folder / "out", "/out", "rw"),
    ]
    if not row.image:
        mounts.append(bind(Path("/usr"), "/usr", "ro"))
        mounts.append(bind(program.parent, "/opt/carboy", "ro"))
    if row.read_only:
        mounts.append(mount("/tmp", "tmpfs", "nodev", "noexec", "mode=1777"))
    linux: dict[str, Any] = {
        "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
        "maskedPaths": MASKED,
        "readonlyPaths": READ_ONLY,
    }
    if row.seccomp != "none":
        ours = row.seccomp == "ours"
        linux["seccomp"] = (
            json.loads(PROFILE.read_text()) if ours else docker_rules(row.capabilities)
        )
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": row.uid, "gid": row.uid},
            "args": command,
            "env": [
                "PATH=/usr/local/bin:/usr/bin:/bin",
                f"HOME={'/root' if row.uid == 0 else '/'}",
            ],
            "cwd": "/",
            "capabilities": {
                "bounding": names,
                "effective": held,
                "permitted": held,
                "inheritable": [],
                "ambient": [],
            },
            "noNewPrivileges": row.no_new_privileges,
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 20000, "soft": 20000}],
        },
        "root": {"path": str(folder / "root"), "readonly": row.read_only},
        "hostname": "container",
        "mounts": mounts,
        "linux": linux,
    }


def make_root(root: Path) -> None:
    """What an image would have beside /usr, which is this host's."""
    for name in (
        "usr",
        "etc",
        "proc",
        "sys",
        "dev",
        "root",
        "home",
        "opt/carboy",
        "opt/battery",
        "out",
        "tmp",
    ):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "root").chmod(0o700)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nuser:x:1000:\n")
    # Every image has one, and it is what an attacker reads first.
    (root / "etc/shadow").write_text("root:*:19000:0:99999:7:::\n")
    (root / "etc/shadow").chmod(0o600)
    for name in ("ld.so.cache", "localtime"):
        if Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), root / "etc" / name)


class Containers:
    """The containers of one run, with what is left to end."""

    def __init__(self, work: Path, program: Path, image: str | None) -> None:
        self.work = work
        self.program = program
        self.image = image
        self.state = work / "state"
        self.ids: list[str] = []

    def runc(self, *arguments: str) -> list[str]:
        """A command of runc with a state of our own."""
        return ["runc", "--root", str(self.state), *arguments]

    def run(self, row: Row) -> tuple[Row, int, str, float]:
        """Runs the battery in a container: its exit code, what it said, and the seconds it took."""
        started = time.monotonic()
        folder = self.work / row.name
        if self.image:
            # A folder for each: what a container writes is its own.
            unpack = ["umoci", "unpack", "--image", self.image, str(folder)]
            subprocess.run(unpack, check=True, stdout=subprocess.DEVNULL)
            (folder / "rootfs").rename(folder / "root")
        else:
            make_root(folder / "root")
        out = folder / "out"
        out.mkdir()
        out.chmod(0o777)
        place = "/usr/bin/carboy" if row.image else "/opt/carboy/carboy"
        command = ["/usr/bin/python3", "/opt/battery/battery.py", "--program", place]
        command += ["--python", "/usr/bin/python3", "--host", row.host, "--group", "container"]
        command += ["--out", "/out/row.json"]
        for walls in row.demand:
            command += ["--demand", walls]
        if row.image:
            # As README has it; nested walls must be asked for.
            walls = "" if "full" in row.demand else " --walls nested"
            first = f"carboy run{walls} -c 'sum(n * n for n in range(10))'"
            command = ["/bin/sh", "-c", f'{first} && exec "$@"', "sh", *command]
        config = bundle(row, folder, self.program, command)
        (folder / "config.json").write_text(json.dumps(config, indent=1))
        name = f"carboy-{row.name}-{os.getpid()}"
        self.ids.append(name)
        try:
            done = subprocess.run(
                self.runc("run", "--bundle", str(folder), name),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=SECONDS,
            )
            code, said = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            said = late.output.decode(errors="replace") if isinstance(late.output, bytes) else ""
            code, said = 1, f"{said}\nnot done after {SECONDS} s"
        left = sorted(path.name for path in (folder / "root/tmp").iterdir())
        if left:
            code, said = code or 1, f"{said}\nleft behind in /tmp: {' '.join(left)}"
        return row, code, said, time.monotonic() - started

    def end(self) -> None:
        """Ends what still runs."""
        for name in self.ids:
            subprocess.run(self.runc("delete", "--force", name), capture_output=True)


def main() -> int:
    """Runs the rows that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep the rows in tests/hosts/results")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=" ".join(row.name for row in ROWS))
    parser.add_argument("--image", metavar="FOLDER:TAG", help="try this image instead")
    parser.add_argument("--profile", action="store_true", help="print the profile that we ship")
    given = parser.parse_args()
    if given.profile:
        print(json.dumps(own_rules(), indent=2))
        return 0
    unknown = set(given.rows) - {row.name for row in (*ROWS, *IMAGE_ROWS)}
    if unknown:
        parser.error(f"there is no row {' '.join(sorted(unknown))}")
    tools = ("runc", "umoci") if given.image else ("runc",)
    missing = [what for what in tools if not shutil.which(what)]
    missing += [str(RULES)] if not RULES.exists() else []
    if missing:
        print(f"containers: SKIPPED, {' and '.join(missing)} is not there")
        print("containers: apt-get install runc golang-github-containers-common")
        return 0
    if os.geteuid() != 0:
        print("containers: must be root, as runc must", file=sys.stderr)
        return 2
    program = Path(
        os.environ.get("CARBOY_TEST_PROGRAM") or TREE / "target/release/carboy"
    ).resolve()
    # An end by a signal cleans up as any other.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    work = Path(tempfile.mkdtemp(prefix="carboy-containers.", dir="/var/tmp"))
    work.chmod(0o755)
    # Where every user can read it; target/ may lie below a private home.
    own = work / "program"
    own.mkdir()
    if not given.image:
        shutil.copy(program, own / "carboy")
    containers = Containers(work, own / "carboy", given.image)
    failed = []
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            all_rows = IMAGE_ROWS if given.image else ROWS
            asked = [row for row in all_rows if not given.rows or row.name in given.rows]
            for row, code, said, took in pool.map(containers.run, asked):
                print(
                    f"containers: {row.name}: {'failed' if code else 'held'}, {took:.0f} s",
                    flush=True,
                )
                if code:
                    failed.append(row.name)
                    print(said)
                found = work / row.name / "out/row.json"
                if given.write and found.exists():
                    shutil.copyfile(found, HERE / "results" / f"container-{row.name}.json")
    finally:
        containers.end()
        shutil.rmtree(work)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
