# title: simple ciphers and encodings
# expect: ok
# check: result == ["uryyb", "aGk=", "6869", 3]
import base64
import binascii
import codecs

result = [codecs.encode("hello", "rot13"), base64.b64encode(b"hi").decode(), binascii.hexlify(b"hi").decode(), len("é€".encode("utf-8")) - 2]
