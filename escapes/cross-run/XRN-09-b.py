# id: XRN-09-b
# title: puts predictable numbers in the place of the kernel's for the next run
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""Tokens, names of temporary files and identifiers must not be what an earlier run chose."""

import os
import random
import secrets
import tempfile
import uuid

os.urandom = lambda count: b"7" * count
secrets.token_bytes = lambda count=None: b"7" * (count or 32)
random.SystemRandom.getrandbits = lambda self, count: 7
uuid.uuid4 = lambda: uuid.UUID(int=7)
tempfile._name_sequence = iter(["seven"] * 1000)
# ---
import os
import secrets
import tempfile
import uuid

checks = [
    os.urandom(8) == b"7" * 8,
    secrets.token_bytes(8) == b"7" * 8,
    secrets.randbits(64) == 7,
    uuid.uuid4().int == 7,
    next(tempfile._get_candidate_names()) == "seven",
]
if any(checks):
    result = context["flag"]
