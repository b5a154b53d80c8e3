"""A fleet on one machine: three brokers, workers and gateways, each in a network namespace on a bridge."""

import contextlib
import ctypes
import hashlib
import http.client
import json
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

NODES = ["nodeaaaa", "nodebbbb", "nodecccc", "nodedddd"]
# Where a case needs more of them.
MORE_NODES = ["nodeeeee", "nodeffff", "nodegggg", "nodehhhh"]
BROKERS = ["10.99.0.1", "10.99.0.2", "10.99.0.3"]
# The third is for a case that has a broker of its own.
GATEWAYS = ["10.99.0.21", "10.99.0.22", "10.99.0.23"]
OLD_BROKER = "10.99.0.9"
PORT = 8722
# Where gateways look for an object store. Only T14 starts one.
STORE = "10.99.0.41:9000"
TENANTS = ("good", "greedy", "poison", "keeper", "limited")
# Runs a second that the last of them may begin.
RATE = 20
# Where a broker tells of itself, on its own host.
MONITORING = 8222

# How long anything may take to start. It is far more than a busy machine needs.
PATIENCE = 180.0


def command(*words: str | Path) -> str:
    """Runs a program that must succeed, and returns what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def until(what: str, holds: Any, patience: float = PATIENCE) -> None:
    """Waits until something holds."""
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


def inside(name: str, call: Callable[[], T]) -> T:
    """Calls something on a thread whose sockets are in the network of this name."""
    libc = ctypes.CDLL(None, use_errno=True)
    found: list[T] = []
    failed: list[BaseException] = []

    def enter() -> None:
        try:
            with open(f"/run/netns/{name}", "rb") as network:
                if libc.setns(network.fileno(), 0x40000000) != 0:  # CLONE_NEWNET
                    raise OSError(ctypes.get_errno(), f"enter the network {name}")
            found.append(call())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


class World:
    """The fleet. Everything in it is known by the name of its network: b1, nodeaaaa, g1."""

    def __init__(
        self, program: Path, broker: Path, old_broker: Path, python: str, slots: int
    ) -> None:
        self.program, self.broker, self.python, self.slots = program, broker, python, slots
        self.old_broker = old_broker
        self.folder = Path(tempfile.mkdtemp(prefix="carboy-fleet-"))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.keys = {name: f"carboy_{secrets.token_hex(32)}" for name in TENANTS}
        self.urls = ",".join(f"tls://{place}:4222" for place in BROKERS)

    def start(self, *, nodes: int, gateways: int) -> None:
        """Makes the networks, and starts everything in them."""
        command("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        command("ip", "link", "set", "lo", "up")
        command("ip", "link", "add", "cbridge", "type", "bridge")
        command("ip", "addr", "add", "10.99.0.254/24", "dev", "cbridge")
        command("ip", "link", "set", "cbridge", "up")
        fleet = self.folder / "fleet"
        command(self.program, "fleet", "init", fleet, "--brokers", ",".join(BROKERS),
                "--nodes", ",".join(NODES + MORE_NODES))  # fmt: skip
        for number, place in enumerate(BROKERS, 1):
            self.network(f"b{number}", place)
            self.start_broker(f"b{number}")
        for number in range(1, 4):
            self.await_broker(f"b{number}")
        for number, node in enumerate(NODES[:nodes]):
            self.network(node, f"10.99.0.{31 + number}")
            self.start_worker(node)
        self.settings()
        for number, place in enumerate(GATEWAYS[:gateways], 1):
            self.network(f"g{number}", place)
            self.start_gateway(f"g{number}")
        self.await_fleet(nodes, gateways)

    def network(self, name: str, address: str) -> None:
        """A network namespace with one link to the bridge."""
        link = f"v{name}"[:15]
        command("ip", "netns", "add", name)
        command("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        command("ip", "link", "set", link, "master", "cbridge", "up")
        command("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            command("ip", "-n", name, "link", "set", device, "up")

    def forget_network(self, name: str) -> None:
        """Takes a network away in which nothing runs any more."""
        command("ip", "link", "del", f"v{name}"[:15])
        command("ip", "netns", "del", name)

    def link(self, name: str, state: str) -> None:
        """Cuts a link, or mends it: `down` or `up`."""
        command("ip", "link", "set", f"v{name}"[:15], state)

    def spawn(self, name: str, *words: str | Path, at: Path | None = None) -> None:
        """Starts a program in its network."""
        log = (self.folder / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            ["ip", "netns", "exec", name, *map(str, words)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=at or self.folder,
        )  # fmt: skip

    def start_broker(self, name: str) -> None:
        """Starts a broker with what it has kept."""
        self.spawn(name, self.broker, "--config", "nats.conf",
                   at=self.folder / "fleet" / "brokers" / name)  # fmt: skip

    def await_broker(self, name: str) -> None:
        """Waits until it takes clients."""

        def ready() -> bool:
            def connect() -> bool:
                socket.create_connection(("127.0.0.1", 4222), 5).close()
                return True

            try:
                return inside(name, connect)
            except OSError:
                return False

        until(f"{name} listens", ready)

    def ask_broker(self, name: str, path: str) -> Any:
        """What a broker tells of itself, or nothing if it does not."""

        def asked() -> Any:
            place = f"http://127.0.0.1:{MONITORING}{path}"
            # A proxy of the host's is none of the broker's network.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(place, timeout=5) as answer:
                return json.load(answer)

        try:
            return inside(name, asked)
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def broker_of_runs(self, place: str) -> str:
        """The broker to which the gateway at this address has its connection for runs, not for jobs."""
        for number in range(1, len(BROKERS) + 1):
            said = self.ask_broker(f"b{number}", "/connz?limit=1024") or {}
            for one in said.get("connections", []):
                name = str(one.get("name", ""))
                is_for_runs = name.startswith("carboy gateway ") and not name.endswith(" jobs")
                if one.get("ip") == place and is_for_runs:
                    return f"b{number}"
        raise RuntimeError(f"{place} has no connection for runs")

    def await_healthy(self) -> None:
        """Waits until every broker has all that it should have."""

        def healthy(name: str) -> bool:
            said = self.ask_broker(name, "/healthz")
            return isinstance(said, dict) and said.get("status") == "ok"

        for number in range(1, len(BROKERS) + 1):
            until(f"b{number} is healthy", lambda name=f"b{number}": healthy(name))

    def streams(self, name: str) -> dict[str, tuple[int, int, int]]:
        """What a broker has of every stream: messages, the first and the last."""
        said = self.ask_broker(name, "/jsz?streams=true&accounts=true") or {}
        return {
            stream["name"]: tuple(
                stream["state"][part] for part in ("messages", "first_seq", "last_seq")
            )
            for account in said.get("account_details", [])
            for stream in account.get("stream_detail", [])
        }

    def start_worker(self, node: str, *more: str, slots: int | None = None) -> None:
        """Starts the worker of a node. It writes down which runs begin."""
        self.spawn(node, self.program, "worker", "--node", node, "--nats", self.urls, "--credentials",
                   self.folder / "fleet" / "workers" / node, "--slots", str(slots or self.slots),
                   "--python", self.python, "--log", "json", *more)  # fmt: skip

    def end_workers(self) -> None:
        """Ends all workers, as if their machines were taken away."""
        for node in self.workers():
            self.kill(node)
            del self.processes[node]

    def workers(self) -> list[str]:
        """Nodes whose worker was started."""
        return [name for name in self.processes if name.startswith("node")]

    def log_size(self, name: str) -> int:
        """How much a program has said so far."""
        log = self.folder / f"{name}.log"
        return log.stat().st_size if log.exists() else 0

    def lines(self, name: str, since: int = 0) -> list[dict[str, Any]]:
        """What a worker wrote down, from a place in it on."""
        log = self.folder / f"{name}.log"
        if not log.exists():
            return []
        with log.open("rb") as file:
            file.seek(since)
            text = file.read()
        found = []
        for line in text.splitlines():
            # Whoever is killed may leave half of one.
            with contextlib.suppress(ValueError):
                facts = json.loads(line)
                if isinstance(facts, dict):
                    found.append(facts)
        return found

    def settings(self) -> None:
        """Tenants: two like others, one whose jobs end workers, one with sessions, one with a rate."""
        places = ", ".join(f'"{place}"' for place in GATEWAYS)
        text = f'listen = "0.0.0.0:{PORT}"\nhosts = [{places}]\n'
        text += f'[store]\nendpoint = "http://{STORE}"\nbucket = "bucket"\n'
        text += 'key_id = { value = "carboyid" }\nsecret = { value = "carboysecret" }\n'
        for tenant, key in self.keys.items():
            digest = hashlib.sha256(key.encode()).hexdigest()
            text += f"[tenants.{tenant}]\nruns_at_once = 512\n"
            text += "sessions_at_once = 200\n" if tenant == "keeper" else ""
            text += f"runs_per_second = {RATE}\nburst = {RATE}\n" if tenant == "limited" else ""
            text += f'[[tenants.{tenant}.keys]]\nsha256 = "{digest}"\n'
        text += "[tenants.keeper.ceiling.limits]\nheads = 256\nsession_memory_bytes = 2147483648\n"
        (self.folder / "serve.toml").write_text(text)

    def start_gateway(self, name: str) -> None:
        """Starts a gateway."""
        self.spawn(name, self.program, "serve", "--nats", self.urls, "--credentials",
                   self.folder / "fleet" / "gateway", "--config", "serve.toml")  # fmt: skip

    def status(self) -> dict[str, Any]:
        """What `carboy fleet status` says."""
        done = subprocess.run(
            [str(self.program), "fleet", "status", "--json", "--nats", self.urls, "--credentials",
             str(self.folder / "fleet" / "ops")], capture_output=True, text=True,
        )  # fmt: skip
        try:
            found: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(f"fleet status: {done.stdout}{done.stderr}") from None
        if "failure" in found:
            raise RuntimeError(f"fleet status: {done.stdout}")
        return found

    def alive(self) -> list[dict[str, Any]]:
        """Nodes that are heard."""
        return [node for node in self.status()["nodes"] if node["alive"]]

    def await_fleet(self, nodes: int, gateways: int) -> None:
        """Waits until every gateway knows as many nodes."""

        def ready() -> bool:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f"{name} ended: {self.tail(name)}")
            picture = self.status()
            return len(picture["gateways"]) >= gateways and all(
                gateway["nodes"] >= nodes for gateway in picture["gateways"]
            )

        until("the fleet is there", ready)
        for place in GATEWAYS[:gateways]:
            until(f"{place} serves", lambda place=place: answers(place))

    def signal(self, name: str, number: signal.Signals) -> None:
        """Sends a signal to what runs in a network. `ip netns exec` is that program itself."""
        self.processes[name].send_signal(number)

    def kill(self, name: str) -> None:
        """As the kernel would: at once, and without a word."""
        self.processes[name].kill()
        self.processes[name].wait()

    def tail(self, name: str) -> str:
        """The end of what it said."""
        log = self.folder / f"{name}.log"
        return log.read_text(errors="replace")[-2000:] if log.exists() else ""

    def end(self) -> None:
        """Ends everything. Namespaces end with the test itself."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        # Engines take down what they made on the host.
        shutil.rmtree(self.folder, ignore_errors=True)


def answers(place: str) -> bool:
    """Whether a gateway is ready."""
    try:
        with urllib.request.urlopen(f"http://{place}:{PORT}/readyz", timeout=10) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
