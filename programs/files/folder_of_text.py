# title: writes a folder of files and finds them
# expect: ok
# check: result == ["out/f0.txt", "out/f1.txt", "out/f2.txt"]
from pathlib import Path

p = Path("out")
p.mkdir(exist_ok=True)
for i in range(3):
    (p / f"f{i}.txt").write_text(str(i))
result = sorted(str(q) for q in Path(".").glob("**/*.txt"))
