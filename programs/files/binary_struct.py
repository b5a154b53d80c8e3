# title: packs and reads binary records
# expect: ok
# check: result == [[1, 2.5], [2, 3.5]]
import struct

with open("r.bin", "wb") as f:
    for i, x in [(1, 2.5), (2, 3.5)]:
        f.write(struct.pack("<id", i, x))
with open("r.bin", "rb") as f:
    result = [list(t) for t in struct.iter_unpack("<id", f.read())]
