"""The cases T1 to T21 of a fleet: `tests/fleet` calls this in namespaces of its own."""

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .load import Load, Seen
from .world import NODES, World, until


class Case:
    """What a case has to work with, and what it found wrong."""

    def __init__(self, world: World, runs: int, at_once: int, seconds: float) -> None:
        self.world, self.runs, self.at_once, self.seconds = world, runs, at_once, seconds
        self.faults: list[str] = []
        self.slow: list[str] = []

    def load(self, **changes: object) -> Load:
        """Runs that are being sent."""
        settings: dict[str, object] = {"runs": self.runs, "at_once": self.at_once} | changes
        return Load(self.world, **settings).start()  # type: ignore[arg-type]

    def all_there(self, seen: Seen) -> None:
        """Every run that was sent has its result."""
        print(f"    {seen.line()}")
        if seen.sent != len(seen.results):
            self.faults.append(f"sent {seen.sent}, unique {len(seen.results)}: {seen.wrong[:3]}")

        if seen.lost:
            self.slow.append(f"{seen.lost} runs were lost with their node")

    def within(self, what: str, found: float, most: float) -> None:
        """A time that is promised of a machine with nothing else to do."""
        if found > most:
            self.slow.append(f"{what} was {found:.2f} s, more than {most} s")


def t1(case: Case) -> None:
    """kill -9 of two workers"""
    load = case.load()
    for part, node in ((0.3, NODES[0]), (0.5, NODES[1])):
        load.until(part)
        case.world.kill(node)
    seen = load.end()
    case.all_there(seen)
    case.within("p99.9", seen.quantile(0.999), 0.5)
    for node in NODES[:2]:
        case.world.start_worker(node)
    case.world.await_fleet(4, 1)


def t2(case: Case) -> None:
    """a worker is stopped for 3 s"""
    load = case.load()
    load.until(0.3)
    case.world.signal(NODES[0], signal.SIGSTOP)
    time.sleep(3)
    case.world.signal(NODES[0], signal.SIGCONT)
    seen = load.end()
    case.all_there(seen)
    case.within("max", seen.quantile(1), 1.5)


def t3(case: Case) -> None:
    """a worker's link is cut for 6 s"""
    load = case.load()
    load.until(0.3)
    case.world.link(NODES[0], "down")
    time.sleep(6)
    case.world.link(NODES[0], "up")
    seen = load.end()
    case.all_there(seen)
    case.within("max", seen.quantile(1), 1.5)
    case.world.await_fleet(4, 1)


def t4(case: Case) -> None:
    """kill -9 of a broker; another's link is cut for 4 s"""
    load = case.load()
    load.until(0.3)
    case.world.kill("b1")
    load.until(0.5)
    case.world.start_broker("b1")
    case.world.await_broker("b1")
    case.world.link("b2", "down")
    time.sleep(4)
    case.world.link("b2", "up")
    seen = load.end()
    case.all_there(seen)
    case.within("max", seen.quantile(1), 1.5)
    case.world.await_fleet(4, 1)


def t5(case: Case) -> None:
    """the brokers are restarted one after the other"""
    load = case.load()
    for number in (1, 2, 3):
        load.until(number * 0.2)
        case.world.signal(f"b{number}", signal.SIGTERM)
        case.world.processes[f"b{number}"].wait()
        case.world.start_broker(f"b{number}")
        case.world.await_broker(f"b{number}")
    seen = load.end()
    case.all_there(seen)
    case.within("p99.9", seen.quantile(0.999), 0.5)
    case.world.await_fleet(4, 1)


def t6(case: Case) -> None:
    """two of three brokers are killed"""
    load = case.load()
    load.until(0.3)
    for name in ("b1", "b2"):
        case.world.kill(name)
    seen = load.end()
    case.all_there(seen)
    case.within("max", seen.quantile(1), 1.5)
    for name in ("b1", "b2"):
        case.world.start_broker(name)
        case.world.await_broker(name)
    case.world.await_fleet(4, 1)


def t9(case: Case) -> None:
    """kill -9 of a gateway; callers ask another with the same key"""
    world = case.world
    load = case.load(gateways=2, code="import time; time.sleep(0.05); result = {n}")
    load.until(0.3)
    world.kill("g2")
    case.all_there(load.end())
    # Its runs were killed, although their callers never said so.
    world.start_gateway("g2")
    world.await_fleet(4, 2)
    code = "import time; time.sleep(25); result = {n}"
    orphans = case.load(runs=8, at_once=8, only=1, insist=False, code=code)
    until("runs are under way", lambda: busy(world) >= 8)
    world.kill("g2")
    began = time.monotonic()
    until("orphans are killed", lambda: busy(world) == 0, 20)
    # A look takes more than a second.
    case.within("the end of orphans", time.monotonic() - began, 3 + 2.5)
    orphans.end()
    world.start_gateway("g2")
    world.await_fleet(4, 2)


def busy(world: World) -> int:
    """Places that are taken."""
    return sum(node["slots"] - node["free"] for node in world.alive())


def t15(case: Case) -> None:
    """one tenant floods, and another is served"""
    work = "sum(range(200_000)); result = {n}"
    alone = case.load(runs=case.runs // 2, at_once=2, code=work).end()
    case.all_there(alone)
    flood = case.load(runs=10**6, at_once=48, tenant="greedy", insist=False, code=work)
    beside = case.load(runs=case.runs // 2, at_once=2, code=work).end()
    flood.halt()
    flooding = flood.end()
    case.all_there(beside)
    print(f"    the flood: {flooding.line()}")
    case.within("p99 beside a flood", beside.quantile(0.99), 1.2 * alone.quantile(0.99))


def t17(case: Case) -> None:
    """three times as much as can be done"""
    work = "sum(range(500_000)); result = {n}"
    peak = case.load(runs=10**6, at_once=16, insist=False, code=work)
    time.sleep(case.seconds / 3)
    peak.halt()
    best = peak.end()
    over = case.load(runs=10**6, at_once=160, insist=False, code=work)
    time.sleep(case.seconds)
    over.halt()
    seen = over.end()
    for what in (best, seen):
        print(f"    {what.line()}")
    if seen.wrong or best.wrong:
        case.faults.append(f"{(seen.wrong + best.wrong)[:3]}")
    rate, peak_rate = (len(what.times) / what.seconds for what in (seen, best))
    if rate < 0.9 * peak_rate:
        case.slow.append(f"{rate:.0f} runs/s under overload, {peak_rate:.0f} at the peak")
    refusals = sorted(seen.refusal_times)
    if refusals:
        case.within("p99 of refusals", refusals[int(len(refusals) * 0.99)], 0.05)
    after = case.load(runs=50, at_once=4).end()
    case.all_there(after)


def t21(case: Case) -> None:
    """random faults for a while"""
    world, chance = case.world, random.Random(int(os.environ.get("CARBOY_TEST_SEED", "1")))
    load = case.load(runs=10**7, gateways=2)
    end = time.monotonic() + case.seconds
    while time.monotonic() < end:
        time.sleep(min(20.0, max(end - time.monotonic(), 0)))
        kind = chance.choice(["worker", "broker", "worker link", "broker link", "stop"])
        who = chance.choice(
            NODES if kind in ("worker", "worker link", "stop") else ["b1", "b2", "b3"]
        )
        memory = {
            name: rss(process.pid) for name, process in world.processes.items() if name[0] in "gn"
        }
        print(f"    {kind} {who}; answered {len(load.seen.times)}; MiB {memory}", flush=True)
        if kind in ("worker", "broker"):
            world.kill(who)
            (world.start_worker if kind == "worker" else world.start_broker)(who)
        elif kind == "stop":
            world.signal(who, signal.SIGSTOP)
            time.sleep(3)
            world.signal(who, signal.SIGCONT)
        else:
            world.link(who, "down")
            time.sleep(5)
            world.link(who, "up")
    load.halt()
    case.all_there(load.end())
    world.await_fleet(4, 2)


def rss(pid: int) -> int:
    """What a process has in memory, in MiB."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * 4096 >> 20


CASES: dict[str, Callable[[Case], None]] = {
    "T1": t1, "T2": t2, "T3": t3, "T4": t4, "T5": t5, "T6": t6, "T9": t9, "T15": t15, "T17": t17, "T21": t21,
}  # fmt: skip
# Those of the gate: a loss of each kind.
GATE = ["T1", "T5", "T6"]


def main() -> int:
    """Runs the cases that are named, on one fleet."""
    parser = argparse.ArgumentParser(prog="tests/fleet", description=__doc__)
    parser.add_argument(
        "cases", nargs="*", help=f"of {' '.join(CASES)}; without any, {' '.join(GATE)}"
    )
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20, help="how long T17 and T21 take")
    parser.add_argument(
        "--times",
        action="store_true",
        help="fail when times are not kept or a run is lost: for a quiet machine",
    )
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--broker", type=Path, required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    chosen = parser.parse_args()
    names = chosen.cases or GATE
    if unknown := set(names) - set(CASES):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    world = World(chosen.program, chosen.broker, chosen.python, slots=2)
    failed = False
    began = time.monotonic()
    try:
        world.start(nodes=4, gateways=2 if {"T9", "T21"} & set(names) else 1)
        print(f"fleet: there after {time.monotonic() - began:.0f} s", flush=True)
        for name in names:
            case = Case(world, chosen.runs, chosen.at_once, chosen.seconds)
            print(f"fleet: {name}, {CASES[name].__doc__}", flush=True)
            started = time.monotonic()
            CASES[name](case)
            faults = case.faults + (case.slow if chosen.times else [])
            for remark in case.slow:
                print(f"    {remark}")
            failed |= bool(faults)
            print(f"fleet: {name} {'FAILED: ' + '; '.join(faults) if faults else 'passed'}, "
                  f"{time.monotonic() - started:.0f} s", flush=True)  # fmt: skip
    except BaseException:
        for name in world.processes:
            print(f"--- {name}\n{world.tail(name)}", file=sys.stderr)
        raise
    finally:
        world.end()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
