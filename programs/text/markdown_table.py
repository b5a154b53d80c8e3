# title: rows as a table of text
# packages: tabulate
# expect: ok
# check: "| lamp" in result
from tabulate import tabulate

result = tabulate([["lamp", 3], ["desk", 1]], headers=["item", "qty"], tablefmt="github")
