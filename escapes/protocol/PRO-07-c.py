# id: PRO-07-c
# title: answers with numbers that no machine word holds
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""They are JSON all the same, and must come through digit by digit."""

import os

numbers = [b"1e308", b"-0.0", b"5e-324", b"9007199254740993", b"-9223372036854775809"]
numbers += [b"18446744073709551616", b"1" * 4300, b"1E-99999999999999999999"]
body = b'{"done":{"result":[' + b",".join(numbers) + b"]}}"
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
