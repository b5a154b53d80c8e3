# title: a file in the home directory
# expect: ok
# check: result == "kept"
from pathlib import Path

target = Path.home() / "notes.txt"
target.write_text("kept")
result = target.read_text()
