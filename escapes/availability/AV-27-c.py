# id: AV-27-c
# title: pads, repeats, joins and translates to an enormous length
# walls: full nested
# first: engine count
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=1073741824
"""Methods of text whose length is an argument. Each is caught, the last one is not."""

for attempt in (
    lambda: "x".ljust(10**8),
    lambda: "x\ty".expandtabs(10**8),
    lambda: b"x".zfill(10**8),
    lambda: "x".translate({120: "y" * 10**8}),
):
    try:
        attempt()
    except MemoryError:
        pass
result = len((b"y" * 10**6).join([b""] * 101))
