# title: a CSV file read by Arrow's threads
# packages: pyarrow
# expect: ok
# check: result == [50000, ["a", "b"]]
from pyarrow import csv

with open("big.csv", "w") as f:
    f.write("a,b\n" + "".join(f"{i},{i * 2}\n" for i in range(50_000)))
table = csv.read_csv("big.csv")
result = [table.num_rows, table.column_names]
