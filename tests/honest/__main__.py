"""The table: every program, what came of it, and whether that was known.

    python3 -m honest --python VENV/bin/python [--preload] [--profile agent] [--outside] [--only NAME]

It ends with 0 if the programs that fail are those that `programs/known.txt` lists for this setting.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass

from .inside import Inside
from .judge import OUTSIDE, Came, fault
from .known import known_for
from .outside import Outside
from .program import HeaderError, Program, read_all

# Outside, only programs that should work or raise are run: the others reach for what is not theirs.
RUN_OUTSIDE = ("ok", "error")


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    program: Program
    came: Came
    fault: str | None
    known: str | None


def main() -> int:
    """Runs the programs that were asked for and prints the table."""
    options = _options()
    try:
        programs = read_all(options.only, options.tier)
    except HeaderError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.outside:
        programs = [one for one in programs if one.outside and one.kind in RUN_OUTSIDE]
    needed = sorted({name for one in programs for name in one.packages})
    missing, minor = _missing(options.python, needed)
    skipped = [one for one in programs if missing.intersection(one.packages)]
    programs = [one for one in programs if not missing.intersection(one.packages)]

    profile = OUTSIDE if options.outside else options.profile
    setting = "plain" if profile == "open" else profile
    if options.preload:
        setting = f"{setting}+preload"
    known = known_for(setting, minor)
    preload = [name for name in needed if name not in missing] if options.preload else []
    place = (
        Outside(options.python)
        if options.outside
        else Inside(options.python, preload, options.profile, options.walls)
    )
    start = time.monotonic()
    rows: list[Row] = []
    with place, ThreadPoolExecutor(options.jobs) as threads:
        futures = {threads.submit(place.run, one): one for one in programs}
        for future in as_completed(futures):
            one, came = futures[future], future.result()
            rows.append(Row(one, came, fault(one, came, profile), known.get(one.name)))
            # The table comes at the end, and that may be minutes away.
            _progress(rows, len(programs))
    rows.sort(key=lambda row: row.program.name)
    seconds = time.monotonic() - start
    if options.json:
        print(json.dumps(_report(rows, skipped, setting, minor, seconds), indent=1))
    else:
        _print(rows, skipped, setting, minor, seconds)
    return any(bool(row.fault) != bool(row.known) for row in rows)


def _progress(rows: list[Row], count: int) -> None:
    last = rows[-1]
    if last.fault and not last.known:
        print(f"{last.program.name}: {last.fault}", file=sys.stderr, flush=True)
    if len(rows) % 50 == 0:
        print(f"{len(rows)} of {count}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="honest", description="Runs the programs in programs/.")
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter, with its packages"
    )
    parser.add_argument("--preload", action="store_true", help="preload every package first")
    parser.add_argument("--profile", choices=("open", "agent"), default="open")
    parser.add_argument("--walls", choices=("full", "nested"), default="full")
    parser.add_argument("--outside", action="store_true", help="a plain interpreter, no carboy")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--tier", type=int, choices=(1, 2), help="one tier; without it, both")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _missing(python: str, packages: list[str]) -> tuple[set[str], str]:
    """The packages that the interpreter does not have, and its minor version."""
    code = (
        "import sys, importlib.util as u\n"
        "print('%d.%d' % sys.version_info[:2], *[p for p in sys.argv[1:] if not u.find_spec(p)])"
    )
    done = subprocess.run(
        [python, "-I", "-c", code, *packages], capture_output=True, text=True, check=True
    )
    minor, *missing = done.stdout.split()
    return set(missing), minor


def _print(
    rows: list[Row], skipped: list[Program], setting: str, minor: str, seconds: float
) -> None:
    topics = sorted({row.program.name.split("/")[0] for row in rows})
    print(f"{'topic':12} {'held':>5} {'failed':>6} {'known':>6}")
    for topic in topics:
        some = [row for row in rows if row.program.name.startswith(f"{topic}/")]
        bad = [row for row in some if row.fault]
        print(
            f"{topic:12} {len(some) - len(bad):5} {len(bad):6} {sum(bool(r.known) for r in bad):6}"
        )
    for row in rows:
        if row.fault and row.known:
            print(f"known    {row.program.name}: {row.known}\n         {row.fault}")
    for row in rows:
        if row.fault and not row.known:
            print(f"FAILED   {row.program.name}: {row.fault}")
        elif row.known and not row.fault:
            print(f"HOLDS    {row.program.name}: take it out of programs/known.txt for {setting}")
    held = sum(not row.fault for row in rows)
    works = [row for row in rows if row.program.kind == "ok"]
    print(
        f"{setting}, CPython {minor}: {held} of {len(rows)} as expected; of {len(works)} that should "
        f"work, {sum(row.came.kind is None and not row.fault for row in works)} do; "
        f"{len(skipped)} skipped for packages that are not there; {seconds:.0f} s"
    )


def _report(
    rows: list[Row], skipped: list[Program], setting: str, minor: str, seconds: float
) -> dict[str, object]:
    return {
        "setting": setting,
        "python": minor,
        "programs": len(rows),
        "held": sum(not row.fault for row in rows),
        "seconds": round(seconds, 1),
        "skipped": [one.name for one in skipped],
        "rows": [
            {
                "name": row.program.name,
                "expect": f"{row.program.kind} {row.program.what}".strip(),
                "fault": row.fault,
                "known": row.known,
                **{
                    key: value
                    for key, value in asdict(row.came).items()
                    if key not in ("stdout", "stderr", "result")
                },
                "result": repr(row.came.result)[:200],
            }
            for row in rows
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
