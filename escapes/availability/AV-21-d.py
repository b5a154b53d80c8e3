# id: AV-21-d
# title: answers with an object that fills memory when it is written
# walls: full nested
# first: engine count
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""The limits hold for the writing of the answer as for everything else."""


class Large(dict):
    def items(self):
        return [("size", len(bytearray(100_000_000)))]


result = Large(a=1)
