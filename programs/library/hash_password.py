# title: hashes and verifies a password
# expect: ok
# check: result is True
import hashlib
import hmac
import os

salt = os.urandom(16)
key = hashlib.pbkdf2_hmac("sha256", b"secret", salt, 1000)
result = hmac.compare_digest(key, hashlib.pbkdf2_hmac("sha256", b"secret", salt, 1000))
