"""`python -m carboy.bench`: what a run costs from Python, beside the engine itself and others.

Machines are noisy, so everything is measured in one go: rounds of the engine's own bench and of runs
from here take turns, and the ratio is that of each round. Sandboxes of others are timed where they
are installed in this environment, with the same job.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from ._binary import find_binary
from ._messages import failure_of
from ._sandbox import Sandbox

JOB = "result = sum(range(100))"
ANSWER = 4950
ROUNDS = 5
# Between two runs, as in the engine's own bench: what is measured is a run that finds a jar standing,
# not how fast jars are made.
PACE = 0.004


def measure(runs: int) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """All figures, and every sample behind them."""
    samples: dict[str, list[float]] = {"sdk": []}
    engine, ratios = [], []
    with Sandbox() as box:

        def run() -> Any:
            return box.run(JOB).result

        timed(run, 50, PACE)
        for _ in range(ROUNDS):
            engine.append(engine_p50())
            one = timed(run, max(1, runs // ROUNDS), PACE)
            samples["sdk"] += one
            ratios.append(median(one) / engine[-1])
    peers = {}
    for name, make in PEERS.items():
        try:
            samples[name] = timed(make(), min(runs, 300))
        except ImportError:
            peers[name] = {"skipped": "not installed in this environment"}
        except Exception as error:  # What others raise is not known here.
            peers[name] = {"skipped": f"it failed: {type(error).__name__}"}
        else:
            peers[name] = figures(samples[name])
    figures_of = {
        "job": JOB,
        "sdk": figures(samples["sdk"]),
        "engine": {"p50_ms": round(median(engine), 4)},
        "ratio": round(median(ratios), 3),
        "peers": peers,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    return figures_of, {**samples, "engine_p50": engine}


def engine_p50() -> float:
    """The median of the engine's API, in the words of its own bench."""
    command = [find_binary(), "bench", "--quick", "--only", "c1", "--json"]
    done = subprocess.run([*command, "--python", sys.executable], stdout=subprocess.PIPE)
    report = json.loads(done.stdout)
    if "failure" in report:
        raise failure_of(report["failure"])
    return float(report["sealed"]["c1"]["p50_ms"])


def timed(run: Callable[[], Any], runs: int, pace: float = 0.0) -> list[float]:
    """How long each of so many runs took, in milliseconds."""
    samples = []
    for _ in range(runs):
        start = time.perf_counter()
        answer = run()
        samples.append((time.perf_counter() - start) * 1e3)
        time.sleep(pace)
        if answer != ANSWER:
            raise RuntimeError(f"it answered {answer!r} instead of {ANSWER}")
    return samples


def figures(samples: list[float]) -> dict[str, Any]:
    """Quantiles of some samples."""
    ordered = sorted(samples)

    def at(part: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * part))], 4)

    return {"p50_ms": at(0.5), "p90_ms": at(0.9), "p99_ms": at(0.99), "runs": len(ordered)}


def restricted_python() -> Callable[[], Any]:
    """Compiles to a subset, in this process. No isolation."""
    from RestrictedPython import compile_restricted, safe_globals

    def run() -> Any:
        space = {**safe_globals, "sum": sum, "range": range}
        exec(compile_restricted(JOB, "job.py", "exec"), space)
        return space["result"]

    return run


def monty() -> Callable[[], Any]:
    """An interpreter of its own for a subset of Python."""
    import pydantic_monty

    pool = pydantic_monty.Monty().__enter__()

    def run() -> Any:
        with pool.checkout() as session:
            return session.feed_run("sum(range(100))")

    return run


def smolagents() -> Callable[[], Any]:
    """Walks the syntax tree, in this process. No isolation."""
    from smolagents.local_python_executor import LocalPythonExecutor

    def run() -> Any:
        executor = LocalPythonExecutor([])
        executor.send_tools({})
        return executor(JOB).output

    return run


PEERS: dict[str, Callable[[], Callable[[], Any]]] = {
    "RestrictedPython": restricted_python,
    "pydantic-monty": monty,
    "smolagents": smolagents,
}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m carboy.bench", description="Times runs.")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--runs", type=int, default=2000, help="how many runs (default: 2000)")
    parser.add_argument("--raw", metavar="FILE", help="write every sample to a file")
    arguments = parser.parse_args()
    found, samples = measure(arguments.runs)
    if arguments.raw:
        with open(arguments.raw, "w", encoding="utf-8") as file:
            json.dump(samples, file)
    if arguments.json:
        print(json.dumps(found, indent=2))
        return
    rows = {"carboy from Python": found["sdk"], "its engine": found["engine"], **found["peers"]}
    for name, row in rows.items():
        text = row.get("skipped") or f"p50 {row['p50_ms']:.3f} ms"
        print(f"{name:<20} {text}")
    print(f"from Python a run takes {found['ratio']:.2f} times as long as in the engine")


if __name__ == "__main__":
    main()
