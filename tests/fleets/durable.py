"""Durable jobs, T10 to T13, and what becomes of them without most brokers (T6)."""

import time
from typing import Any

from .case import Begun, Case
from .jobs import ask, job
from .world import NODES, World, until

BROKERS = ["b1", "b2", "b3"]
STREAMS = {"CB_ASK", "CB_JOBS", "CB_RES", "CB_HOOK", "CB_DLQ"}


def messages(world: World, stream: str) -> int:
    """How many messages the brokers have in a stream, or -1 while they do not agree."""
    found = {world.streams(name).get(stream, (-1, 0, 0))[0] for name in BROKERS}
    return found.pop() if len(found) == 1 else -1


def prepared(case: Case) -> None:
    """Waits until the streams of jobs are there, and the first job was run, which does not count."""
    world = case.world
    until("the streams are there", lambda: set(world.streams("b1")) >= STREAMS)
    world.await_healthy()
    told = accepted(world, "result = 0", "good")
    until("a first job has ended", lambda: state(world, told["id"], "good") == "ended")
    case.begun = Begun(world)


def accepted(world: World, code: str, tenant: str, wall_ms: int | None = None) -> Any:
    """Submits a job until it is accepted."""
    key, found = f"{time.monotonic_ns()}", []

    def taken() -> bool:
        status, _, told = ask(world, "POST", "/v1/jobs", job(code, wall_ms), tenant=tenant, key=key)
        if status not in (202, 429, 503):
            raise RuntimeError(f"a job was not accepted: {status} {told}")
        found.append(told)
        return status == 202

    until("a job is accepted", taken)
    return found[-1]


def look(world: World, name: str, tenant: str) -> Any:
    """How a job stands, or nothing while nobody can tell."""
    status, _, told = ask(world, "GET", f"/v1/jobs/{name}?wait_ms=1000", tenant=tenant)
    return told if status == 200 else None


def state(world: World, name: str, tenant: str) -> str:
    """How a job stands, in a word."""
    return str((look(world, name, tenant) or {}).get("state", ""))


def nothing_left(case: Case, results: int) -> None:
    """No order is left, and there are so many results more than before."""
    world = case.world
    until("no order is left", lambda: messages(world, "CB_JOBS") == 0)
    until("every result is kept", lambda: messages(world, "CB_RES") >= results)
    if (kept := messages(world, "CB_RES")) != results:
        case.faults.append(f"{kept} results are kept, and {results} jobs were accepted")


def t10(case: Case) -> None:
    """durable jobs, kill -9 of two workers"""
    world = case.world
    prepared(case)
    before = messages(world, "CB_RES")
    jobs = case.jobs(code="import time; time.sleep(0.05); result = {n}")
    for part, node in ((0.3, NODES[0]), (0.5, NODES[1])):
        jobs.until(part)
        world.kill(node)
    seen = jobs.end()
    case.all_there(seen)
    nothing_left(case, before + seen.sent)
    for node in NODES[:2]:
        world.start_worker(node)
    world.await_fleet(4, 2)


def t11(case: Case) -> None:
    """durable jobs, kill -9 of a broker twelve times"""
    world, kills = case.world, 12
    prepared(case)
    before = messages(world, "CB_RES")
    jobs = case.jobs(under_way=16)
    for number in range(kills):
        jobs.until((number + 1) / (kills + 2))
        name = BROKERS[number % len(BROKERS)]
        world.kill(name)
        world.start_broker(name)
        # Two must be there: it is one broker that is lost, not most of them.
        world.await_healthy()
    seen = jobs.end()
    case.all_there(seen)
    ended = time.monotonic()

    def equal() -> bool:
        first, *others = (world.streams(name) for name in BROKERS)
        return set(first) == STREAMS and all(other == first for other in others)

    until("every broker has the same", equal)
    case.within("until every broker has the same", time.monotonic() - ended, 10)
    nothing_left(case, before + seen.sent)
    if changed := jobs.changed():
        case.faults.append(f"results are others now: {changed[:3]}")
    print(f"    {kills} brokers killed; each has {world.streams('b1')}")
    world.await_fleet(4, 2)


def t12(case: Case) -> None:
    """durable jobs, a worker's link is cut until others have run what it had"""
    world = case.world
    prepared(case)
    before = messages(world, "CB_RES")
    # More of these than other nodes have places, so that the one that is cut has some.
    code = "import time; time.sleep(12); result = {n}"
    slow = case.jobs(jobs=8, code=code, wall_ms=30_000)
    until("the node has a job", lambda: case.begun.lines(NODES[0]))
    world.link(NODES[0], "down")
    quick = case.jobs()
    both = [load.end() for load in (quick, slow)]
    world.link(NODES[0], "up")
    for seen in both:
        case.all_there(seen)
    sent = sum(seen.sent for seen in both)
    world.await_fleet(4, 2)
    # What it ran has a result already, and its own is late.
    nothing_left(case, before + sent)
    begun = len(case.begun.all())
    if begun <= sent:
        case.faults.append(f"{begun} runs began for {sent} jobs: nothing was run again")
    if changed := quick.changed() + slow.changed():
        case.faults.append(f"results are others now: {changed[:3]}")
    print(f"    {begun - sent} of {sent} jobs were run twice, {sent} results are kept")


def t13(case: Case) -> None:
    """a durable job whose worker dies each time, beside others"""
    world = case.world
    prepared(case)
    before = {name: messages(world, name) for name in ("CB_RES", "CB_DLQ")}
    deaths: list[str] = []
    poison = accepted(world, "import time; time.sleep(25)", "poison", 30_000)["id"]
    jobs = case.jobs(code="import time; time.sleep(0.1); result = {n}")

    def turns() -> dict[str, int]:
        """How often it began on each start of a node."""
        found: dict[str, int] = {}
        for line in case.begun.all():
            if line.get("tenant") == "poison":
                found[line["address"]] = found.get(line["address"], 0) + 1
        return found

    def over() -> bool:
        for address in turns():
            if address not in deaths:
                deaths.append(address)
                node = next(node for node in NODES if address.startswith(node))
                world.kill(node)
                world.start_worker(node)
        return state(world, poison, "poison") != "accepted"

    until("the job is given up", over)
    end = look(world, poison, "poison")
    if end["state"] != "failed" or end["failure"]["code"] != "gave_up":
        case.faults.append(f"the job is not given up: {end}")
    if not 1 <= len(deaths) <= 4:
        case.faults.append(f"{len(deaths)} workers died of it")
    seen = jobs.end()
    case.all_there(seen)
    nothing_left(case, before["CB_RES"] + seen.sent + 1)
    until("it is a dead letter", lambda: messages(world, "CB_DLQ") == before["CB_DLQ"] + 1)
    print(f"    {len(deaths)} workers died, then it was given up; one dead letter")
    world.await_fleet(4, 2)


def without_brokers(case: Case) -> str:
    """Two of three brokers are gone: a job is refused with a way out. Returns its key."""
    key, answers = f"{time.monotonic_ns()}", []

    def refused() -> bool:
        # The first may find a broker that does not know of it yet.
        answers.append(ask(case.world, "POST", "/v1/jobs", job("result = 6"), key=key))
        return answers[-1][0] != 202

    until("jobs are refused", refused)
    status, headers, told = answers[-1]
    code = (told or {}).get("code")
    if (status, code) != (503, "durable_unavailable") or not headers.get("retry-after"):
        case.faults.append(f"jobs without brokers: {status} {told}, {headers.get('retry-after')}")
    return key


def with_brokers(case: Case, key: str) -> None:
    """They are back, and the same request is one job."""
    world, found = case.world, []

    def taken() -> bool:
        found.append(ask(world, "POST", "/v1/jobs", job("result = 6"), key=key))
        return found[-1][0] == 202

    until("jobs are accepted again", taken)
    name = found[-1][2]["id"]
    until("a job ends again", lambda: state(world, name, "good") == "ended")
    end = look(world, name, "good")
    if end["outcome"].get("result") != 6:
        case.faults.append(f"the job has another result: {end}")
