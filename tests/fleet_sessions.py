#!/usr/bin/env python3
"""Sessions and quotas in a fleet of real programs: a broker, a worker with real jars, two gateways.

T7: twenty sessions on one node, which is killed: each is a 410 session_lost, also when the node is started
again. T8: a hundred branches of one session, and their node is told to leave: it opens nothing more,
and every branch ends its run or is told why not. Also: a session is reached through both gateways
and outlives the one that opened it, and a tenant that asks two gateways begins about as many runs as its
quota says, not twice as many.

Usage: fleet_sessions.py CARBOY NATS_SERVER PYTHON. Prints one line of JSON for each case, and ends
with 1 if one failed.
"""

import concurrent.futures
import http.client
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

SESSIONS = 20
BRANCHES = 100
RATE = 20
SECONDS = 10
WAIT = 120


class Fleet:
    """Programs that were started, and are ended with the test."""

    def __init__(self, carboy: str, nats: str, python: str, folder: pathlib.Path) -> None:
        self.carboy, self.python, self.folder = carboy, python, folder
        self.programs: list[subprocess.Popen[str]] = []
        ports = folder / "ports"
        ports.mkdir()
        self.start(nats, "--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir", str(ports))
        self.url = until(lambda: broker_url(ports))
        self.key = folder / "session.key"
        self.key.write_text("ab" * 32 + "\n")
        limits = "[tenants.acme.ceiling.limits]\nheads = 256\nsession_memory_bytes = 2147483648\n"
        digest = subprocess.run(
            ["sha256sum"], input="secret", text=True, capture_output=True, check=True
        ).stdout.split()[0]
        self.settings = folder / "serve.toml"
        self.settings.write_text(
            "[tenants.acme]\nsessions_at_once = 200\nruns_at_once = 200\n"
            f'[[tenants.acme.keys]]\nsha256 = "{digest}"\nscopes = ["run", "read"]\n' + limits
        )
        self.limited = folder / "limited.toml"
        self.limited.write_text(
            f"[tenants.acme]\nruns_at_once = 200\nruns_per_second = {RATE}\nburst = {RATE}\n"
            f'[[tenants.acme.keys]]\nsha256 = "{digest}"\nscopes = ["run", "read"]\n'
        )

    def start(self, *command: str) -> subprocess.Popen[str]:
        """A program that ends with this one."""
        program = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdout=subprocess.PIPE,
            stderr=(self.folder / "log").open("a"),
            text=True,
        )
        self.programs.append(program)
        return program

    def worker(self, node: str, *more: str) -> subprocess.Popen[str]:
        """A node, when it has joined."""
        worker = self.start(
            self.carboy, "worker", "--nats", self.url, "--node", node, "--python", self.python,
            "--slots", "256",
            "--memory-budget", str(16 << 30), *more,
        )  # fmt: skip
        assert "carboy works" in worker.stdout.readline(), (self.folder / "log").read_text()
        return worker

    def gateway(self, settings: pathlib.Path | None = None) -> "Gateway":
        """A gateway, when it serves."""
        program = self.start(
            self.carboy, "serve", "--nats", self.url, "--session-key", str(self.key),
            "--config", str(settings or self.settings),
            "--listen", "127.0.0.1:0",
        )  # fmt: skip
        said = program.stdout.readline()
        place = re.search(r"http://([0-9.:]+)", said)
        assert place, said + (self.folder / "log").read_text()
        gateway = Gateway(place[1], program)
        until(lambda: gateway.ask("GET", "/readyz")[0] == 200)
        return gateway

    def end(self) -> None:
        """Ends everything that was started."""
        for program in reversed(self.programs):
            program.kill()
            program.wait()


class Gateway:
    """A door of the fleet."""

    def __init__(self, place: str, program: subprocess.Popen[str]) -> None:
        self.place, self.program = place, program

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict, float]:
        """One request: its status, its answer and how long it took."""
        connection = http.client.HTTPConnection(self.place, timeout=WAIT)
        headers = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
        begun = time.monotonic()
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        took = time.monotonic() - begun
        connection.close()
        try:
            return answer.status, json.loads(text or b"{}"), took
        except ValueError:
            return answer.status, {}, took

    def open(self, **limits: int) -> str:
        """The id of a new session."""
        limits = {"session_memory_bytes": 128 << 20, **limits}
        status, answer, _ = self.ask("POST", "/v1/sessions", {"policy": {"limits": limits}})
        assert status == 201, answer
        return answer["id"]

    def run(self, session: str, code: str) -> tuple[int, dict, float]:
        """Runs a piece of code in a session."""
        return self.ask("POST", f"/v1/sessions/{session}/runs", {"code": code})

    def value(self, session: str, code: str) -> object:
        """What a piece of code in a session gives."""
        status, answer, _ = self.run(session, code)
        assert status == 200, answer
        return answer["outcome"]["result"]


def broker_url(ports: pathlib.Path) -> str | None:
    """Where the broker listens, once it says so."""
    for file in ports.iterdir():
        try:
            return json.loads(file.read_text())["nats"][0]
        except (ValueError, KeyError):
            pass
    return None


def until(found):
    """Asks again and again until there is something."""
    last = time.monotonic() + WAIT
    while time.monotonic() < last:
        try:
            answer = found()
        except OSError:
            answer = None
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError("it never happened")


def both_gateways(fleet: Fleet) -> dict:
    """A session is reached through both gateways, and outlives the one at which it was opened."""
    worker, first, second = fleet.worker("nodeaaaa"), fleet.gateway(), fleet.gateway()
    session = first.open()
    assert first.value(session, "x = 20\nx") == 20
    assert second.value(session, "x += 1\nx") == 21
    status, branch, _ = second.ask("POST", f"/v1/sessions/{session}/branch")
    assert status == 201, branch
    first.program.kill()
    first.program.wait()
    assert second.value(session, "x += 1\nx") == 22
    assert second.value(branch["id"], "x") == 21
    stranger = session[:-1] + ("0" if session[-1] != "0" else "1")
    assert second.ask("GET", f"/v1/sessions/{stranger}")[0] == 404
    worker.kill()
    second.program.kill()
    return {}


def t7(fleet: Fleet) -> dict:
    """Twenty sessions, and their node is killed."""
    worker, gateway = fleet.worker("nodeaaaa"), fleet.gateway()
    sessions = [gateway.open() for _ in range(SESSIONS)]
    for session in sessions:
        assert gateway.value(session, "x = 1\nx") == 1
    worker.kill()
    worker.wait()
    answers = [gateway.run(session, "x") for session in sessions]
    codes = [(status, answer.get("code")) for status, answer, _ in answers]
    assert codes == [(410, "session_lost")] * SESSIONS, codes
    again = fleet.worker("nodeaaaa")
    until(lambda: gateway.ask("POST", "/v1/runs", {"code": "result = 1"})[0] == 200)
    after = [gateway.run(session, "x") for session in sessions]
    codes = [(status, answer.get("code")) for status, answer, _ in after]
    assert codes == [(410, "session_lost")] * SESSIONS, codes
    again.kill()
    gateway.program.kill()
    return {"longest_ms": round(1e3 * max(took for _, _, took in answers + after), 1)}


def t8(fleet: Fleet) -> dict:
    """A hundred branches, and their node is told to leave."""
    worker, gateway = fleet.worker("nodeaaaa"), fleet.gateway()
    session = gateway.open(heads=256, session_memory_bytes=2 << 30)
    assert gateway.value(session, "x = 1\nx") == 1
    branches = []
    for _ in range(BRANCHES):
        status, answer, _ = gateway.ask("POST", f"/v1/sessions/{session}/branch")
        assert status == 201, (len(branches), answer)
        branches.append(answer["id"])
    code = "import time\ntime.sleep(2)\nx"
    with concurrent.futures.ThreadPoolExecutor(len(branches)) as pool:
        runs = [pool.submit(gateway.run, branch, code) for branch in branches]
        # The first to end shows that they run.
        begun = time.monotonic()
        time.sleep(0.5)
        worker.send_signal(signal.SIGTERM)

        def refusal() -> object:
            status, answer, _ = gateway.ask("POST", f"/v1/sessions/{session}/branch")
            return (status, answer.get("code")) if status != 201 else None

        refused, took = until(refusal), time.monotonic() - begun - 0.5
        ended = [run.result() for run in runs]
    ok = sum(status == 200 and answer["outcome"]["result"] == 1 for status, answer, _ in ended)
    rest = {(status, answer.get("code")) for status, answer, _ in ended if status != 200}
    assert rest <= {
        (503, "drained"),
        (503, "fleet_full"),
        (410, "session_ended"),
        (410, "session_lost"),
    }, rest
    assert refused in {(503, "drained"), (410, "session_ended"), (410, "session_lost")}, refused
    gateway.program.kill()
    worker.kill()
    return {"branches": len(branches), "ended_well": ok, "told": sorted(map(str, rest)),
            "refused": list(refused), "refused_after_ms": round(1e3 * took, 1)}  # fmt: skip


def quotas(fleet: Fleet) -> dict:
    """Two gateways share the quota of a tenant that asks both for far more than it may have."""
    fleet.worker("nodeaaaa")
    gateways = [fleet.gateway(fleet.limited) for _ in range(2)]
    last = time.monotonic() + SECONDS

    def ask(gateway: Gateway) -> list[float]:
        begun = []
        while time.monotonic() < last:
            if gateway.ask("POST", "/v1/runs", {"code": "1"})[0] == 200:
                begun.append(time.monotonic())
        return begun

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        times = [pool.submit(ask, gateway) for gateway in gateways * 2]
        begun = sorted(moment for part in times for moment in part.result())
    # After the first seconds, in which they have not heard of each other and give out what had been saved.
    settled = [moment for moment in begun if moment > last - SECONDS / 2]
    rate = len(settled) / (SECONDS / 2)
    for gateway in gateways:
        gateway.program.kill()
    assert 0.5 * RATE < rate < 1.3 * RATE, (rate, len(begun))
    return {"quota": RATE, "runs_per_second": rate, "all": len(begun)}


def main() -> int:
    """Every case, in a fleet of its own."""
    carboy, nats, python = sys.argv[1:4]
    failed = 0
    for case in (both_gateways, t7, t8, quotas):
        with tempfile.TemporaryDirectory(prefix="carboy-fleet-") as folder:
            fleet = Fleet(carboy, nats, python, pathlib.Path(folder))
            try:
                print(json.dumps({"case": case.__name__, "ok": True, **case(fleet)}), flush=True)
            except AssertionError as error:
                failed = 1
                log = (pathlib.Path(folder) / "log").read_text()[-2000:]
                print(
                    json.dumps(
                        {"case": case.__name__, "ok": False, "why": str(error)[:2000], "log": log}
                    ),
                    flush=True,
                )
            finally:
                fleet.end()
    return failed


if __name__ == "__main__":
    sys.exit(main())
