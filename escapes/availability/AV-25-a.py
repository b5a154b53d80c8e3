# id: AV-25-a
# title: unpacks a small block of compressed zeros
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""A thousand times as many bytes come out as went in."""

import zlib

packer = zlib.compressobj(1)
packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(100)) + packer.flush()
result = len(zlib.decompress(packed))
