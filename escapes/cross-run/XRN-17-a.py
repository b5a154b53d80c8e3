# id: XRN-17-a
# title: fills its files so that the next run finds no room
# walls: full nested
# first: mount namespace
# second: none
# expect: ok
# limits: file_bytes=4194304 files=200
# control: none: without walls there is no allowance that could be shared
"""Each run has its own allowance of bytes and of files; the second must get all of it."""

for number in range(150):
    with open(f"many{number}", "wb") as file:
        file.write(b"x" * 20_000)
# ---
try:
    for number in range(150):
        with open(f"many{number}", "xb") as file:
            file.write(b"x" * 20_000)
except OSError:
    result = context["flag"]
