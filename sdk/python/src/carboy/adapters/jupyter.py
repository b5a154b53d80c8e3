"""A cell magic for IPython and Jupyter: the cell runs in a jar, the notebook does not see it.

    %load_ext carboy.adapters.jupyter

    %%carboy --inputs prices --preload numpy --policy medium --output total
    sum(prices)

The cell answers with its `Outcome`, shown as a table in which all that the code wrote is escaped.
`--inputs` names variables of the notebook that the code gets a copy of; they must be JSON. `--output`
names the variable that the `Outcome` is put into. Nothing is kept from cell to cell. Needs `ipython`.
"""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from .. import Outcome, RequestError, Sandbox


class _Options(argparse.ArgumentParser):
    """The magic's options. A mistake is told in the notebook, and ends nothing."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def _options() -> _Options:
    options = _Options(prog="%%carboy", add_help=False, allow_abbrev=False)
    options.add_argument("--preload", type=_names, default=[], metavar="MODULE,...")
    options.add_argument("--policy", default=None, metavar="PRESET")
    options.add_argument("--inputs", type=_names, default=[], metavar="NAME,...")
    options.add_argument("--output", default=None, metavar="NAME")
    return options


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


class Magic:
    """`%%carboy`, with an engine that stays ready while cells ask for the same modules."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._box: Sandbox | None = None
        self._preload: list[str] = []

    def __call__(self, line: str, cell: str) -> Outcome:
        """Runs the cell in a jar."""
        try:
            given = _options().parse_args(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"%%carboy: {error}") from None
        variables = self._shell.user_ns
        unknown = [name for name in given.inputs if name not in variables]
        if unknown:
            raise UsageError(f"the notebook has no variable {', '.join(unknown)}")
        if given.output is not None and not given.output.isidentifier():
            raise UsageError(f"--output must be the name of a variable, was {given.output!r}")
        inputs = {name: variables[name] for name in given.inputs}
        try:
            outcome = self._sandbox(given.preload).run(cell, inputs, policy=given.policy)
        except RequestError as error:
            raise UsageError(str(error)) from None
        if given.output is not None:
            variables[given.output] = outcome
        return outcome

    def _sandbox(self, preload: list[str]) -> Sandbox:
        if self._box is None or preload != self._preload:
            self.close()
            self._box, self._preload = Sandbox(preload=preload), preload
        return self._box

    def close(self) -> None:
        """Ends the engine."""
        if self._box is not None:
            self._box.close()
            self._box = None


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext` calls."""
    shell.magics_manager.register_function(Magic(shell), "cell", "carboy")


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """What `%unload_ext` calls."""
    magic = shell.magics_manager.magics["cell"].pop("carboy", None)
    if isinstance(magic, Magic):
        magic.close()
