"""What a case of a fleet has to work with, and what it found wrong."""

from collections import Counter

from .jobs import Jobs
from .load import Load, Seen
from .world import World


class Begun:
    """Which runs began since this was made, as the nodes wrote it down."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sizes = {name: world.log_size(name) for name in world.workers()}

    def lines(self, node: str) -> list[dict[str, str]]:
        """Those of one node."""
        lines = self.world.lines(node, self.sizes.get(node, 0))
        return [line for line in lines if line.get("event") == "begun"]

    def all(self) -> list[dict[str, str]]:
        """Those of every node."""
        return [line for node in self.world.workers() for line in self.lines(node)]

    def most_on_one_start(self) -> int:
        """How often a run began on one start of a node, at most."""
        known = Counter((line["run"], line["address"]) for line in self.all() if "run" in line)
        return max(known.values(), default=0)


class Case:
    """What a case has to work with, and what it found wrong."""

    def __init__(self, world: World, runs: int, at_once: int, seconds: float) -> None:
        self.world, self.runs, self.at_once, self.seconds = world, runs, at_once, seconds
        self.faults: list[str] = []
        self.slow: list[str] = []
        self.begun = Begun(world)

    def load(self, **changes: object) -> Load:
        """Runs that are being sent."""
        settings: dict[str, object] = {"runs": self.runs, "at_once": self.at_once} | changes
        return Load(self.world, **settings).start()  # type: ignore[arg-type]

    def jobs(self, **changes: object) -> Jobs:
        """Durable jobs that are being sent."""
        settings: dict[str, object] = {"jobs": self.runs, "at_once": self.at_once} | changes
        return Jobs(self.world, **settings).start()  # type: ignore[arg-type]

    def all_there(self, seen: Seen) -> None:
        """Every run that was sent has its result, and none began twice on one start of a node."""
        print(f"    {seen.line()}, begun {len(self.begun.all())}")
        if seen.sent != len(seen.results):
            self.faults.append(f"sent {seen.sent}, unique {len(seen.results)}: {seen.wrong[:3]}")
        if (most := self.begun.most_on_one_start()) > 1:
            self.faults.append(f"a run began {most} times on one start of a node")
        if seen.lost:
            self.slow.append(f"{seen.lost} runs were lost with their node")

    def within(self, what: str, found: float, most: float) -> None:
        """A time that is promised of a machine with nothing else to do."""
        if found > most:
            self.slow.append(f"{what} was {found:.2f} s, more than {most} s")
