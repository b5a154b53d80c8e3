"""A fleet on one machine: three brokers, workers and gateways, each in a network namespace on a bridge."""

import hashlib
import json
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

NODES = ["nodeaaaa", "nodebbbb", "nodecccc", "nodedddd"]
BROKERS = ["10.99.0.1", "10.99.0.2", "10.99.0.3"]
GATEWAYS = ["10.99.0.21", "10.99.0.22"]
PORT = 8722

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


class World:
    """The fleet. Everything in it is known by the name of its network: b1, nodeaaaa, g1."""

    def __init__(self, program: Path, broker: Path, python: str, slots: int) -> None:
        self.program, self.broker, self.python, self.slots = program, broker, python, slots
        self.folder = Path(tempfile.mkdtemp(prefix="carboy-fleet-"))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.keys = {name: f"carboy_{secrets.token_hex(32)}" for name in ("good", "greedy")}
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
                "--nodes", ",".join(NODES))  # fmt: skip
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
            asked = ["ip", "netns", "exec", name, "/usr/bin/python3", "-I", "-c",
                     "import socket; socket.create_connection(('127.0.0.1', 4222), 5)"]  # fmt: skip
            return subprocess.run(asked, capture_output=True).returncode == 0

        until(f"{name} listens", ready)

    def start_worker(self, node: str) -> None:
        """Starts the worker of a node."""
        self.spawn(node, self.program, "worker", "--node", node, "--nats", self.urls, "--credentials",
                   self.folder / "fleet" / "workers" / node, "--slots", str(self.slots),
                   "--python", self.python)  # fmt: skip

    def settings(self) -> None:
        """Two tenants: one that is served, and one that is to leave others alone."""
        places = ", ".join(f'"{place}"' for place in GATEWAYS)
        text = f'listen = "0.0.0.0:{PORT}"\nhosts = [{places}]\n'
        for tenant, key in self.keys.items():
            digest = hashlib.sha256(key.encode()).hexdigest()
            text += f"[tenants.{tenant}]\nruns_at_once = 512\n"
            text += f'[[tenants.{tenant}.keys]]\nsha256 = "{digest}"\n'
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
