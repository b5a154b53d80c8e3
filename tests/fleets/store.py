"""An object store of the fleet, which is rclone's, and what happens while it is away."""

import json
import subprocess
import time
import urllib.error
import urllib.request
from typing import Any

from .case import Case
from .world import GATEWAYS, PORT, STORE, World, until

NAME = "s1"


def start(world: World) -> None:
    """Starts the store with what it has kept, and waits until it takes requests."""
    program = subprocess.run(["tests/rclone"], check=True, capture_output=True, text=True)
    (world.folder / "store" / "bucket").mkdir(parents=True, exist_ok=True)
    world.spawn(NAME, program.stdout.strip(), "serve", "s3", "--addr", STORE, "--auth-key",
                "carboyid,carboysecret", world.folder / "store")  # fmt: skip

    def listens() -> bool:
        try:
            urllib.request.urlopen(f"http://{STORE}/", timeout=5)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    until("the store listens", listens)


def ask(world: World, place: str, path: str, body: Any = None) -> tuple[int, bytes]:
    """One request to a gateway: the status and the body."""
    request = urllib.request.Request(
        f"http://{place}:{PORT}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {world.keys['good']}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def run(world: World, number: int) -> str:
    """A run that leaves a file. Its id."""
    code = f"open('n.txt', 'w').write('{number} ' * 1000); result = {number}"
    status, body = ask(world, GATEWAYS[0], "/v1/runs?artifacts=keep", {"code": code})
    outcome = json.loads(body)
    if status != 200 or outcome["result"] != number:
        raise AssertionError(f"run {number}: {status} {outcome}")
    return str(outcome["id"])


def is_there(world: World, run_id: str, number: int) -> bool:
    """Whether another gateway has the file of a run."""
    status, body = ask(world, GATEWAYS[1], f"/v1/runs/{run_id}/files/n.txt")
    if status == 200 and body != f"{number} ".encode() * 1000:
        raise AssertionError(f"run {number} has another's file: {body[:80]!r}")
    return status == 200


def t14(case: Case) -> None:
    """the object store is stopped: runs succeed, and their files come later"""
    world = case.world
    world.network(NAME, STORE.split(":")[0])
    start(world)
    first = run(world, 0)
    until("a file is in the store", lambda: is_there(world, first, 0))
    world.kill(NAME)
    end = time.monotonic() + case.seconds
    left: dict[int, str] = {}
    times = []
    while not left or time.monotonic() < end:
        number, began = len(left) + 1, time.monotonic()
        left[number] = run(world, number)
        times.append(time.monotonic() - began)
        time.sleep(0.5)
    status, body = ask(world, GATEWAYS[0], f"/v1/runs/{left[1]}/files")
    if status != 200 or not json.loads(body)["files"][0].get("pending"):
        case.faults.append(f"a file is not pending: {status} {body!r}")
    start(world)
    began = time.monotonic()
    for number, run_id in left.items():
        until(
            f"the file of run {number} is there", lambda n=number, r=run_id: is_there(world, r, n)
        )
    took = time.monotonic() - began
    print(f"    {len(left)} runs in {case.seconds:.0f} s without a store, the slowest {max(times):.2f} s; "
          f"all files there {took:.1f} s after it was back")  # fmt: skip
    case.within("files after the store is back", took, 15)
    world.kill(NAME)
    del world.processes[NAME]
