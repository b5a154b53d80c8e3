# title: reads and writes with the csv module
# expect: ok
# check: result == [{"name": "Ann, Jr.", "n": "1"}, {"name": "Bob", "n": "2"}]
import csv

with open("people.csv", "w", newline="") as f:
    writer = csv.DictWriter(f, fieldnames=["name", "n"])
    writer.writeheader()
    writer.writerows([{"name": "Ann, Jr.", "n": 1}, {"name": "Bob", "n": 2}])
with open("people.csv", newline="") as f:
    result = list(csv.DictReader(f))
