# title: modes, times and links of a file
# expect: ok
# check: result == {"mode": "0o640", "link": "a.txt", "mtime": 1000000000}
import os

with open("a.txt", "w") as f:
    f.write("x")
os.chmod("a.txt", 0o640)
os.utime("a.txt", (1_000_000_000, 1_000_000_000))
os.symlink("a.txt", "b.txt")
info = os.stat("a.txt")
result = {"mode": oct(info.st_mode & 0o777), "link": os.readlink("b.txt"), "mtime": int(info.st_mtime)}
