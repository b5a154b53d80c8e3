"""Sessions while nodes and gateways go (T7, T8), a broker that is too old for jobs (T18), and quotas."""

import concurrent.futures
import signal
import time
from typing import Any

from .case import Case
from .jobs import ask, job
from .world import NODES, OLD_BROKER, RATE, World, answers, until

SESSIONS = 20
BRANCHES = 100
TENANT = "keeper"


class Door:
    """One gateway, for a tenant with sessions."""

    def __init__(self, world: World, gateway: int = 0) -> None:
        self.world, self.gateway = world, gateway

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """One request."""
        status, _, told = ask(self.world, method, path, body, tenant=TENANT, gateway=self.gateway)
        return status, told or {}

    def open(self, **limits: int) -> str:
        """The id of a new session."""
        limits = {"session_memory_bytes": 128 << 20, **limits}
        status, told = self.ask("POST", "/v1/sessions", {"policy": {"limits": limits}})
        if status != 201:
            raise RuntimeError(f"no session was opened: {status} {told}")
        return str(told["id"])

    def branch(self, session: str) -> tuple[int, Any]:
        """A branch of a session."""
        return self.ask("POST", f"/v1/sessions/{session}/branch")

    def run(self, session: str, code: str) -> tuple[int, Any]:
        """Runs a piece of code in a session."""
        return self.ask("POST", f"/v1/sessions/{session}/runs", {"code": code})

    def value(self, session: str, code: str) -> Any:
        """What a piece of code in a session gives."""
        status, told = self.run(session, code)
        if status != 200:
            raise RuntimeError(f"a piece of code failed: {status} {told}")
        return told["outcome"]["result"]


def only_one_node(world: World) -> str:
    """Ends all workers, and starts one that has room for many sessions."""
    world.end_workers()
    node = NODES[0]
    world.start_worker(node, "--memory-budget", str(16 << 30), slots=256)
    world.await_fleet(1, 2)
    return node


def usual_nodes(world: World) -> None:
    """As it was before."""
    world.end_workers()
    for node in NODES:
        world.start_worker(node)
    world.await_fleet(4, 2)


def t7(case: Case) -> None:
    """twenty sessions, and first their gateway is killed, then their node"""
    world = case.world
    node = only_one_node(world)
    first, second = Door(world, 0), Door(world, 1)
    sessions = [second.open() for _ in range(SESSIONS)]
    for number, session in enumerate(sessions):
        if second.value(session, f"x = {number}\nx") != number:
            case.faults.append(f"session {number} gives another value")
    # A session outlives the gateway that opened it.
    world.kill("g2")
    found = [first.value(session, "x += 1\nx") for session in sessions]
    if found != list(range(1, SESSIONS + 1)):
        case.faults.append(f"through another gateway they have {found}")
    world.start_gateway("g2")
    world.await_fleet(1, 2)
    stranger = sessions[0][:-1] + ("0" if sessions[0][-1] != "0" else "1")
    if (status := first.ask("GET", f"/v1/sessions/{stranger}")[0]) != 404:
        case.faults.append(f"an id that nobody signed is {status}")

    def all_lost(when: str) -> None:
        longest = 0.0
        for session in sessions:
            asked = time.monotonic()
            status, told = first.run(session, "x")
            longest = max(longest, time.monotonic() - asked)
            if (status, told.get("code")) != (410, "session_lost"):
                case.faults.append(f"{when}: {status} {told}")
        print(f"    {SESSIONS} sessions {when}: the slowest answer took {longest:.3f} s")
        case.within(f"{when}, the slowest answer", longest, 0.3)

    world.kill(node)
    all_lost("after their node was killed")
    world.start_worker(node, "--memory-budget", str(16 << 30), slots=256)
    world.await_fleet(1, 2)
    if first.value(first.open(), "6 * 7") != 42:
        case.faults.append("the node that is there again opens no session")
    all_lost("after it was started again")
    usual_nodes(world)


def t8(case: Case) -> None:
    """a hundred branches, and their node is told to leave"""
    world = case.world
    node = only_one_node(world)
    door = Door(world)
    session = door.open(heads=256, session_memory_bytes=2 << 30)
    door.value(session, "x = 1\nx")
    branches = []
    for number in range(BRANCHES):
        status, told = door.branch(session)
        if status != 201:
            raise RuntimeError(f"branch {number}: {status} {told}")
        branches.append(told["id"])
    code = "import time\ntime.sleep(2)\nx"
    with concurrent.futures.ThreadPoolExecutor(len(branches)) as pool:
        running = [pool.submit(door.run, branch, code) for branch in branches]
        # Some of them run by then; those that come later are told why not.
        time.sleep(0.5)
        left = time.monotonic()
        world.signal(node, signal.SIGTERM)
        refusals: list[tuple[int, Any]] = []

        def refused() -> bool:
            refusals.append(door.branch(session))
            return refusals[-1][0] != 201

        until("the node takes nothing more", refused)
        took = time.monotonic() - left
        ended = [run.result() for run in running]
    told_so = {(503, "drained"), (503, "fleet_full"), (410, "session_ended"), (410, "session_lost")}
    well = sum(status == 200 and told["outcome"]["result"] == 1 for status, told in ended)
    rest = {(status, told.get("code")) for status, told in ended if status != 200}
    last = (refusals[-1][0], refusals[-1][1].get("code"))
    if (
        not rest <= told_so
        or last not in told_so
        or well + len([status for status, _ in ended if status != 200]) != len(branches)
    ):
        case.faults.append(f"branches were told {rest}, a new one {last}, {well} ended well")
    print(f"    {well} of {len(branches)} branches ended well, the rest was told {sorted(rest)}; "
          f"a new one was refused after {took:.2f} s with {last}")  # fmt: skip
    case.within("until nothing new is taken", took, 1)
    world.processes[node].wait()
    usual_nodes(world)


def t18(case: Case) -> None:
    """a broker of before 2.11: jobs are refused with a way out, and runs are not"""
    world = case.world
    url = f"nats://{OLD_BROKER}:4222"
    for name, place in (("old", OLD_BROKER), ("nodeoldd", "10.99.0.39"), ("g3", "10.99.0.23")):
        world.network(name, place)
    world.spawn("old", world.old_broker, "--addr", OLD_BROKER, "--jetstream",
                "--store_dir", world.folder / "old")  # fmt: skip
    world.spawn("nodeoldd", world.program, "worker", "--node", "nodeoldd", "--nats", url,
                "--python", world.python)  # fmt: skip

    def gateway(*more: str) -> None:
        world.spawn("g3", world.program, "serve", "--nats", url, "--config", "serve.toml", *more)
        until("the gateway of the old broker serves", lambda: answers("10.99.0.23"))

    def asked(path: str, body: object) -> tuple[int, Any]:
        status, _, told = ask(world, "POST", path, body, gateway=2)
        return status, told

    gateway()
    until("runs work", lambda: asked("/v1/runs", {"code": "result = 1"})[0] == 200)
    status, told = asked("/v1/jobs", job("result = 1"))
    if (status, told.get("code")) != (503, "durable_unavailable") or "2.11" not in str(told):
        case.faults.append(f"a job at an old broker: {status} {told}")
    print(f"    {status}: {told.get('detail')}; {told.get('hint')}")
    if "durable jobs are not taken" not in world.tail("g3"):
        case.faults.append(f"the gateway did not say so when it started: {world.tail('g3')}")
    world.kill("g3")
    gateway("--allow-old-broker")
    until("who accepts that has jobs", lambda: asked("/v1/jobs", job("result = 1"))[0] == 202)
    for name in ("g3", "nodeoldd", "old"):
        world.kill(name)
        del world.processes[name]
        world.forget_network(name)


def quotas(case: Case) -> None:
    """two gateways share the quota of a tenant that asks both for far more than it may have"""
    seconds = 10.0
    loads = [
        case.load(runs=10**6, at_once=2, only=gateway, tenant="limited", insist=False)
        for gateway in (0, 1)
    ]
    # In the first seconds they have not heard of each other, and give out what was saved.
    time.sleep(seconds / 2)
    before = sum(len(load.seen.times) for load in loads)
    began = time.monotonic()
    time.sleep(seconds / 2)
    rate = (sum(len(load.seen.times) for load in loads) - before) / (time.monotonic() - began)
    for load in loads:
        load.halt()
        load.end()
    print(f"    {rate:.1f} runs/s of {RATE} through two gateways")
    if rate > 1.3 * RATE:
        case.faults.append(f"{rate:.1f} runs/s, and the quota is {RATE}")
    if rate < 0.5 * RATE:
        case.slow.append(f"{rate:.1f} runs/s, and the quota is {RATE}")
