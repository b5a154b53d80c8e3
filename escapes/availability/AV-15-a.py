# id: AV-15-a
# title: writes one file until its disk is full
# walls: full nested
# first: memory file system
# second: rlimits
# expect: limit file_bytes
# limits: file_bytes=1048576
# control: raised file_bytes=33554432
"""A disk that is full stops everybody who writes to it."""

with open("big", "wb", buffering=0) as big:
    for _ in range(48):
        if big.write(bytes(65536)) < 65536:
            big.write(bytes(65536))
result = "three megabytes"
