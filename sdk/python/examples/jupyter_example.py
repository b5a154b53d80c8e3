"""The cell magic, in a notebook without a browser: the cells are run one by one."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
CELLS = [
    "%load_ext carboy.adapters.jupyter",
    "prices = [3, 4, 5]",
    "%%carboy --inputs prices --preload math --policy medium --output total\n"
    "print('<b>adding</b>')\nsum(prices)",
    "print(total.result)\nprint(total._repr_html_())",
    "%%carboy\nprices",
    "%%carboy --inputs nothing\n1",
]
for cell in CELLS:
    print(f">>> {cell.splitlines()[0]}")
    shell.run_cell(cell, store_history=True)
