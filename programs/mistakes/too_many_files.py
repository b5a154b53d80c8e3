# title: writes more than there is room for
# limits: file_bytes=1MiB
# expect: limit file_bytes
# says: write less
with open("big.bin", "wb") as f:
    for _ in range(100):
        f.write(b"x" * 100_000)
