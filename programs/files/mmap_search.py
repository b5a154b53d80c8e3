# title: looks for bytes in a mapped file
# expect: ok
# check: result == 4000
# agent: refuse
import mmap

with open("m.bin", "wb") as f:
    f.write(b"." * 4000 + b"needle")
with open("m.bin", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
    result = m.find(b"needle")
