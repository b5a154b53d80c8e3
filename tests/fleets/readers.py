"""Who stops reading (T16), what a key of a worker may not do (T19), and long runs beside short ones (T20)."""

import signal
import time

from .case import Case
from .client import Client
from .world import MORE_NODES, NODES, World, until

# As often does the one who stops reading ask for every heartbeat, so that there is much to read at once.
COPIES = 20_000


def slow_consumers(world: World) -> int:
    """How many clients the first broker has cut off because they did not read."""
    said = world.ask_broker("b1", "/varz") or {}
    return int(said.get("slow_consumers", 0))


def t16(case: Case) -> None:
    """somebody who hears every heartbeat stops reading, then a gateway does"""
    world = case.world
    before = slow_consumers(world)
    load = case.load()
    # With the key of people who look, and as few bytes in its socket as can be.
    reader = Client(world.folder / "fleet" / "ops", buffer=4096)
    reader.say(*(f"SUB cb.hb.* {number}" for number in range(1, COPIES + 1)))
    stopped = time.monotonic()
    until("who does not read is cut off", lambda: slow_consumers(world) > before)
    took = time.monotonic() - stopped
    case.within("until who does not read is cut off", took, 3)
    reader.close()
    case.all_there(load.end())
    print(f"    cut off after {took:.1f} s")

    # A gateway that has much to read, and does not. What it had asked for is answered in the end.
    large = "result = [{n}, 'x' * 900_000]"
    its = case.load(runs=min(case.runs, 300), only=1, code=large, at_once=16)
    others = case.load(only=0)
    its.until(0.2)
    world.signal("g2", signal.SIGSTOP)
    # Longer than a broker waits for a reader.
    time.sleep(4)
    others.until(0.9)
    world.signal("g2", signal.SIGCONT)
    for seen in (others.end(), its.end()):
        case.all_there(seen)
    world.await_fleet(4, 2)


def t19(case: Case) -> None:
    """the key of a worker at the real brokers: other nodes, streams and inboxes are refused"""
    world = case.world
    own, other = NODES[:2]
    client = Client(world.folder / "fleet" / "workers" / own)
    refused = {
        f"SUB {subject} 1": f'subscription to "{subject}"'
        for subject in (
            f"cb.n.{other}.>",
            "cb.n.>",
            "cb.hb.*",
            "_INBOX_g.>",
            "_INBOX.>",
            ">",
            "cb.res.>",
        )
    } | {
        f"PUB {subject} 0\r\n": f'publish to "{subject}"'
        for subject in (
            f"cb.n.{other}.x.run",
            f"cb.hb.{other}",
            "_INBOX_g.x.1",
            "$JS.API.STREAM.DELETE.CB_JOBS",
            "$JS.API.STREAM.PURGE.CB_RES",
            "$JS.API.CONSUMER.DELETE.CB_JOBS.short-0",
            "$JS.API.STREAM.MSG.GET.CB_ASK",
            "cb.ask.good.x",
            "cb.jobs.short.0.good",
        )
    }
    for line, words in refused.items():
        client.say(line)
        errors = client.ping()
        if not any(words.lower() in error.lower() for error in errors):
            case.faults.append(f"{line.strip()} was not refused: {errors}")
    client.say(f"SUB cb.n.{own}.never.run 2", "PUB cb.wake 0\r\n")
    if errors := client.ping():
        case.faults.append(f"its own subjects are refused: {errors}")
    client.close()
    print(f"    {len(refused)} subjects refused")


def t20(case: Case) -> None:
    """short runs beside long ones, at 85 % of what eight nodes on this machine can do"""
    world = case.world
    for number, node in enumerate(MORE_NODES):
        world.network(node, f"10.99.0.{41 + number}")
        world.start_worker(node)
    world.await_fleet(8, 2)
    # One in ten is long. What a run costs beside its code is part of it.
    short, long = "sum(range(100_000)); result = {n}", "sum(range(10_000_000)); result = {n}"
    mixed = "sum(range(10_000_000 if {n} % 10 == 0 else 100_000)); result = {n}"
    peak = case.load(runs=10**6, at_once=16, insist=False, code=mixed)
    time.sleep(case.seconds / 2)
    peak.halt()
    best = peak.end()
    most = len(best.times) / best.seconds
    rate = 0.85 * most
    shorts = int(rate * 0.9 * case.seconds) + 1
    alone = case.load(runs=shorts, at_once=48, code=short, rate=rate * 0.9).end()
    beside = case.load(runs=10**6, at_once=48, code=long, rate=rate * 0.1)
    seen = case.load(runs=shorts, at_once=48, code=short, rate=rate * 0.9).end()
    beside.halt()
    lengthy = beside.end()
    for what in (alone, seen, lengthy):
        case.all_there(what)
    print(f"    at most {most:.0f} runs/s of both; sent {rate:.0f}/s; of short ones p99 is "
          f"{seen.quantile(0.99):.3f} s beside long ones, {alone.quantile(0.99):.3f} s alone")  # fmt: skip
    case.within("p99 of short runs", seen.quantile(0.99), 3 * alone.quantile(0.99))
    for node in MORE_NODES:
        world.signal(node, signal.SIGTERM)
        world.processes.pop(node).wait()
        world.forget_network(node)
