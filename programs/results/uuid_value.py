# title: an id as the result
# expect: ok
# check: result == "12345678-1234-5678-1234-567812345678"
import uuid

result = uuid.UUID("12345678123456781234567812345678")
