# title: anonymous memory as mmap makes it by default
# expect: ok
# agent: refuse
# check: result == ["hello", 65536]
import mmap

with mmap.mmap(-1, 65536) as mm:
    mm.write(b"hello")
    mm.seek(0)
    result = [mm.read(5).decode(), len(mm)]
