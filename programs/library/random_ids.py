# title: random and hashed ids
# expect: ok
# check: len(result[0]) == 36 and len(result[1]) == 16 and result[2].startswith("2d711642")
import hashlib
import secrets
import uuid

result = [str(uuid.uuid4()), secrets.token_hex(8), hashlib.sha256(b"x").hexdigest()]
