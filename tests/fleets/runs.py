"""Runs while something is lost: T1 to T6, T9, T15, T17 and T21."""

import os
import random
import signal
import time
from pathlib import Path

from .case import Case
from .durable import prepared, with_brokers, without_brokers
from .world import GATEWAYS, NODES, RATE, World, until


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
    case.world.await_fleet(4, 2)


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
    case.world.await_fleet(4, 2)


def t4(case: Case) -> None:
    """kill -9 of a broker; then the link of the gateway's own broker is cut for 4 s"""
    world = case.world
    load = case.load()
    load.until(0.3)
    world.kill("b1")
    load.until(0.5)
    world.start_broker("b1")
    world.await_broker("b1")
    # Any other would be cut off without the gateway hearing of it, also that of its jobs.
    own = world.broker_of_runs(GATEWAYS[0])
    world.link(own, "down")
    time.sleep(4)
    world.link(own, "up")
    seen = load.end()
    case.all_there(seen)
    print(f"    the gateway was connected to {own}")
    case.within("max", seen.quantile(1), 1.5)
    world.await_fleet(4, 2)


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
    case.world.await_fleet(4, 2)


def t6(case: Case) -> None:
    """two of three brokers are killed: runs go on, jobs are refused until there are two again"""
    prepared(case)
    load = case.load()
    load.until(0.3)
    for name in ("b1", "b2"):
        case.world.kill(name)
    seen = load.end()
    case.all_there(seen)
    case.within("max", seen.quantile(1), 1.5)
    key = without_brokers(case)
    for name in ("b1", "b2"):
        case.world.start_broker(name)
        case.world.await_broker(name)
    with_brokers(case, key)
    case.world.await_fleet(4, 2)


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
    # A gateway that has just come has a small part of the tenant's quota at first, and refuses some.
    orphans = case.load(runs=8, at_once=8, only=1, insist=False, patient=True, code=code)
    until("runs are under way", lambda: busy(world) >= 8)
    world.kill("g2")
    began = time.monotonic()
    until("orphans are killed", lambda: busy(world) == 0, 20)
    # A look takes more than a second.
    case.within("the end of orphans", time.monotonic() - began, 3 + 2.5)
    print(f"    orphans: {orphans.end().line()}")
    world.start_gateway("g2")
    world.await_fleet(4, 2)


def busy(world: World) -> int:
    """Places that are taken."""
    return sum(node["slots"] - node["free"] for node in world.alive())


def t15(case: Case) -> None:
    """one tenant asks for ten times what it may have, and another is served"""
    work = "sum(range(200_000)); result = {n}"
    seen = {}
    for name, rate in (("within its quota", RATE), ("at ten times that", 10 * RATE)):
        other = case.load(
            runs=10**6, at_once=48, tenant="limited", insist=False, rate=rate, code=work
        )
        # What it may begin at once after a pause is over.
        other.until_sent(2 * RATE)
        seen[name] = case.load(runs=case.runs // 2, at_once=2, code=work).end()
        other.halt()
        case.all_there(seen[name])
        print(f"    beside another {name}: {other.end().line()}")
    within, beyond = (one.quantile(0.99) for one in seen.values())
    case.within("p99 beside a flood", beyond, 1.2 * within)


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
    """random faults for a while, every 20 s; gateways must not grow"""
    world, chance = case.world, random.Random(int(os.environ.get("CARBOY_TEST_SEED", "1")))
    # As much as leaves the machine something to do beside it: memory is judged at an even rate.
    load = case.load(runs=10**7, gateways=2, at_once=24, rate=30.0)
    began, end = time.monotonic(), time.monotonic() + case.seconds
    early: dict[str, int] = {}
    while time.monotonic() < end:
        time.sleep(min(20.0, max(end - time.monotonic(), 0)))
        kind = chance.choice(["worker", "broker", "worker link", "broker link", "stop"])
        who = chance.choice(
            NODES if kind in ("worker", "worker link", "stop") else ["b1", "b2", "b3"]
        )
        memory = {
            name: rss(process.pid) for name, process in world.processes.items() if name[0] in "gn"
        }
        if not early and time.monotonic() - began > case.seconds / 4:
            early = memory
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
    for name in ("g1", "g2"):
        # Workers are killed, and are young. Gateways are those of the beginning.
        last = rss(world.processes[name].pid)
        print(
            f"    {name} had {early.get(name, 0)} MiB after a quarter of the time, {last} at the end"
        )
        if last > 1.3 * early.get(name, last) + 8:
            case.slow.append(f"{name} grew from {early[name]} to {last} MiB")


def rss(pid: int) -> int:
    """What a process has in memory, in MiB."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * 4096 >> 20
