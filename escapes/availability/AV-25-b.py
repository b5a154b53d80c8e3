# id: AV-25-b
# title: unpacks many small streams that were joined to one
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""Each stream is tiny and repeated as a whole; the unpacker puts all they hold together."""

import gzip

packed = gzip.compress(bytes(4_000_000), 6) * 25
result = len(gzip.decompress(packed))
