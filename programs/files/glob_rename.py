# title: renames all files of a kind
# expect: ok
# check: result == ["0.md", "1.md"]
import glob
import os

for i in range(2):
    open(f"{i}.txt", "w").close()
for name in glob.glob("*.txt"):
    os.rename(name, name.replace(".txt", ".md"))
result = sorted(glob.glob("*"))
