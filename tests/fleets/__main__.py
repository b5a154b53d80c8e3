"""The cases T1 to T21 of a fleet: `tests/fleet` calls this in namespaces of its own."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .case import Case
from .durable import t10, t11, t12, t13
from .readers import t16, t19, t20
from .runs import t1, t2, t3, t4, t5, t6, t9, t15, t17, t21
from .sessions import quotas, t7, t8, t18
from .store import t14
from .world import World

CASES: dict[str, Callable[[Case], None]] = {
    "T1": t1, "T2": t2, "T3": t3, "T4": t4, "T5": t5, "T6": t6, "T7": t7, "T8": t8, "T9": t9, "T10": t10,
    "T11": t11, "T12": t12, "T13": t13, "T14": t14, "T15": t15, "T16": t16, "T17": t17, "T18": t18,
    "T19": t19, "T20": t20, "T21": t21, "quotas": quotas,
}  # fmt: skip
# Those of the gate: a loss of each kind.
GATE = ["T1", "T5", "T6"]


def main() -> int:
    """Runs the cases that are named, on one fleet."""
    parser = argparse.ArgumentParser(prog="tests/fleet", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {' '.join(CASES)}; without any, all")
    parser.add_argument("--gate", action="store_true", help=f"those of the gate: {' '.join(GATE)}")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20, help="how long T14, T17 and T21 take")
    parser.add_argument(
        "--times",
        action="store_true",
        help="fail when times are not kept or a run is lost: for a quiet machine",
    )
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--broker", type=Path, required=True)
    parser.add_argument("--old-broker", type=Path, required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    chosen = parser.parse_args()
    names = GATE if chosen.gate else chosen.cases or list(CASES)
    if unknown := set(names) - set(CASES):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    world = World(chosen.program, chosen.broker, chosen.old_broker, chosen.python, slots=2)
    failed = False
    began = time.monotonic()
    try:
        world.start(nodes=4, gateways=2)
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
