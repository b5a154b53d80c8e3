"""Beam search over programs, by branches of one session.

The task: find a sequence of pandas steps that turns a messy table into the wanted one. Each state of the
search is a live session with its own `df`. To try a step, the session is branched, which copies no data, and
the step is run in the branch. A step that raises, crashes or takes too long costs its branch and nothing
else. The best few branches live on, and the others are closed.

    python beam_search.py

Here the candidate steps come from a list; in an agent, a model writes them.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import carboy

# The messy table, the wanted one, and how near a table is to it. All branches begin with them.
SETUP = """
import pandas as pd

df = pd.DataFrame({
    "City ": [" Oslo", "Bergen", " Oslo", "Bergen", None, " Oslo"] * 2_000,
    "Amount": ["10", "20", "n/a", "5", "7", "3"] * 2_000,
})
goal = pd.DataFrame({"city": ["Bergen", "Oslo"], "amount": [50_000.0, 26_000.0]})

def score(df):
    if len(df.columns) > 10:
        return 0.0
    points = 2.0 * ([str(name) for name in df.columns] == list(goal.columns))
    for have in df.columns:
        for want in goal.columns:
            if str(have).strip().lower() == want:
                points += str(df[have].dtype) == str(goal[want].dtype)
                wanted, found = set(goal[want]), set(df[have].unique())
                points += 3 * len(wanted & found) / len(wanted | found)
    return points + 10.0 * (df.shape == goal.shape and df.equals(goal)) - len(df.columns) * 0.01
"""

# What may be done in one step. Some are wrong, one crashes the interpreter, and one does not end.
STEPS = [
    "df.columns = [name.strip().lower() for name in df.columns]",
    "df['city'] = df['city'].str.strip()",
    "df['amount'] = pd.to_numeric(df['amount'], errors='coerce')",
    "df['amount'] = df['amount'].astype(float)",
    "df = df.dropna().reset_index(drop=True)",
    "df = df.groupby('city', as_index=False)['amount'].sum()",
    "df = df.T",
    "import ctypes; ctypes.string_at(0)",
    "while True: pass",
]

WIDTH = 3
DEPTH = 6


@dataclass
class State:
    """A session in which some steps were done, and how near it is."""

    session: carboy.Session
    steps: tuple[str, ...]
    score: float


def tried(parent: State, step: str) -> State | None:
    """A branch of a state with one step more; nothing if the step failed."""
    branch = parent.session.branch()
    out = branch.run(f"{step}\nscore(df)", timeout=1.0)
    if not out.ok or not isinstance(out.result, float):
        branch.close()
        return None
    return State(branch, (*parent.steps, step), out.result)


def search(root: carboy.Session) -> State:
    """The best state that was found."""
    beam = [State(root, (), float(root.run("score(df)").result))]
    with ThreadPoolExecutor(4) as pool:
        for depth in range(1, DEPTH + 1):
            began = time.perf_counter()
            moves = [(state, step) for state in beam for step in STEPS if step not in state.steps]
            found = [state for state in pool.map(lambda move: tried(*move), moves) if state]
            found.sort(key=lambda state: -state.score)
            kept: list[State] = []
            for state in found:
                # Two orders of the same steps come to the same table.
                is_new = all(set(state.steps) != set(other.steps) for other in kept)
                if is_new and len(kept) < WIDTH:
                    kept.append(state)
                else:
                    state.session.close()
            for state in beam:
                if state.session is not root:
                    state.session.close()
            beam = kept or beam
            took = time.perf_counter() - began
            print(f"depth {depth}: {len(moves)} tried in {took:.2f} s, best {beam[0].score:.2f}")
            if beam[0].score > 15:
                break
    return beam[0]


def main() -> None:
    """Searches, and prints the program that was found."""
    limits = carboy.Limits(heads=40, memory_bytes="512MiB", session_memory_bytes="1GiB")
    with (
        carboy.Sandbox(carboy.Policy(limits=limits), preload=["pandas"]) as box,
        box.session() as root,
    ):
        root.run(SETUP, on_error="raise")
        best = search(root)
        print("\n".join(best.steps))
        print(best.session.run("df.to_string()").result)
        # The first state is as it was.
        assert root.run("len(df)").result == 12_000


if __name__ == "__main__":
    main()
