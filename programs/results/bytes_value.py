# title: bytes as the result
# expect: ok
result = b"\x89PNG\r\n"
