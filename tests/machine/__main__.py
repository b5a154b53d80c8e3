"""Boots kernels in QEMU and runs the battery of tests/hosts on each: `tests/kernels` calls this."""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import tomllib

from . import boot, initrd, packages, system
from .architecture import ARCHITECTURES

TESTS = Path(__file__).resolve().parents[1]
LIST = tomllib.loads((TESTS / "kernels.toml").read_text())
PINS = LIST["kernel"]
OUT = "/run/test/out"
# A kernel that dies in the emulator before its first process has not seen the program.
BOOTS = 3


def main() -> int:
    """Boots what was asked for, all at once, and says what came of each."""
    parser = argparse.ArgumentParser(
        prog="tests/kernels", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("names", nargs="*", help="kernels by name; without any, those of the gate")
    parser.add_argument("--all", action="store_true", help="every kernel of the list")
    parser.add_argument("--architecture", default="x86_64", choices=ARCHITECTURES)
    parser.add_argument(
        "--program", default=os.environ.get("CARBOY_BINARY", "target/release/carboy")
    )
    parser.add_argument(
        "--root", help="the Debian system of the interpreter; this one if it has the architecture"
    )
    parser.add_argument(
        "--record", action="store_true", help="write the rows to tests/hosts/results"
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long the machines may take")
    parser.add_argument("--as-root", action="store_true", help="run the engine as root")
    parser.add_argument(
        "--cgroup", action="store_true", help="test in a delegated control group instead"
    )
    parser.add_argument(
        "--wheel", type=Path, help="install this there instead, and run README's first commands"
    )
    parser.add_argument("--keep", help="a folder for the archive and the consoles")
    given = parser.parse_args()
    # Whoever ends this ends the machines with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    pins = [pin for pin in PINS if pin["architecture"] == given.architecture]
    unknown = set(given.names) - {pin["name"] for pin in pins}
    if unknown:
        parser.error(f"tests/kernels.toml has no {', '.join(sorted(unknown))}")
    if given.names:
        pins = [pin for pin in pins if pin["name"] in given.names]
    elif not given.all:
        pins = [pin for pin in pins if pin["gate"]]

    for tool in (ARCHITECTURES[given.architecture].qemu[0], "readelf", "dpkg-deb"):
        if shutil.which(tool) is None:
            parser.error(f"{tool} is not installed; .ci/run lists the packages")

    cache = Path(os.environ.get("CARBOY_TEST_CACHE", "/var/tmp/carboy-tests"))
    work = Path(given.keep or cache / "kernels" / f"run-{os.getpid()}")
    work.mkdir(parents=True, exist_ok=True)
    architecture = ARCHITECTURES[given.architecture]
    program = Path(given.program).resolve()
    test_of = "wheel" if given.wheel else "cgroup" if given.cgroup else "kernel"
    # Which part of docs/hosts.md has the row.
    group = "arch" if test_of != "cgroup" and given.architecture != "x86_64" else test_of
    inside = ("machine/init.py", f"machine/{test_of}.py", "hosts/battery.py")
    scripts = {Path(name).name: TESTS / name for name in inside}
    archive = work / "initrd"
    images = {pin["name"]: packages.kernel(pin, cache) for pin in pins}
    if given.root:
        root = Path(given.root)
    elif given.architecture == os.uname().machine:
        root = Path("/")
    else:
        wanted = [pin for pin in LIST["package"] if pin["architecture"] == given.architecture]
        root = system.root(given.architecture, wanted, cache)
    if given.wheel:
        scripts["README.md"] = TESTS.parent / "README.md"
        scripts[given.wheel.name] = given.wheel
        # Debian's own, which is no package of this system but a file.
        pip = next((root / "usr/share/python-wheels").glob("pip-*.whl"))
        scripts[pip.name] = pip
        # It reads them, although it asks nobody.
        certificates = "/etc/ssl/certs/ca-certificates.crt"
        scripts[certificates] = Path(certificates)
    initrd.build(archive, program, scripts, architecture, root)

    started = time.monotonic()
    machines = {}

    def start(pin: dict[str, Any]) -> None:
        log = work / f"{pin['name']}.log"
        words = f"{pin['host']}, delegated cgroup" if given.cgroup else pin["host"]
        test = ["/usr/bin/python3", f"/opt/test/{test_of}.py", "--host", words]
        test += ["--program", "/opt/carboy/carboy"]
        test += ["--group", group, "--python", "/usr/bin/python3", "--out", OUT]
        test += ["--date", time.strftime("%Y-%m-%d", time.gmtime())]
        test += ["--demand", "full", "--demand", "nested", "--timeout", str(given.seconds)]
        user = 0 if given.as_root else 1000
        image = images[pin["name"]]
        machines[pin["name"]] = boot.start(architecture, image, archive, test, log, user)

    failed = False
    try:
        for pin in pins:
            start(pin)
        for pin in pins:
            log = work / f"{pin['name']}.log"
            for boots_left in reversed(range(BOOTS)):
                left = given.seconds - (time.monotonic() - started)
                said = boot.finish(machines[pin["name"]], log, left)
                if said.booted is not None or not boots_left or left <= 0:
                    break
                print(f"kernels: {pin['name']} died before its first process, and is started again")
                print(said.console)
                start(pin)
            took = time.monotonic() - started
            slug = f"{group}-{pin['name']}" if given.record else None
            failed |= not report(pin, said, log, took, slug)
    finally:
        for machine in machines.values():
            if machine.poll() is None:
                machine.kill()
                machine.wait()
        if not given.keep:
            archive.unlink(missing_ok=True)
            if not failed:
                for log in work.glob("*.log"):
                    log.unlink()
                work.rmdir()
    return int(failed)


def report(
    pin: dict[str, Any], said: boot.Said, log: Path, seconds: float, slug: str | None
) -> bool:
    """Says what came of a machine, and whether all of it held. With a slug the row is kept."""
    name = f"{pin['architecture']} {pin['name']}"
    if said.failure:
        print(f"kernels: {name}: {said.failure}; its console is {log} and ends with")
        print(said.console)
        return False
    row = json.loads(said.out) if said.out else {}
    for walls, found in row.get("walls", {}).items():
        drill = found.get("no") or f"quick drill {found['drill']}, commands {found['commands']}"
        more = row.get("rows", {}).get(walls, "none")
        print(f"kernels: {name} ({row['kernel']}), {walls} walls: {drill}, other rows {more}")
    times = f"booted in {said.booted:.0f} s, tested in {said.seconds:.0f} s, {seconds:.0f} s in all"
    print(f"kernels: {name}: {times}")
    if said.code != 0:
        print(f"kernels: {name}: exit code {said.code}; its console is {log} and ends with")
        print(said.console)
    elif slug and said.out:
        (TESTS / "hosts/results" / f"{slug}.json").write_bytes(said.out)
    return said.code == 0


sys.exit(main())
