# title: the same bytes in three compressions
# expect: ok
# check: result == [True, True, True]
import bz2
import gzip
import lzma

data = b"carried away " * 1000
packed = [gzip.compress(data), bz2.compress(data), lzma.compress(data)]
result = [len(p) < len(data) / 10 for p in packed]
