# title: asks an address with the standard library
# expect: refuse
# says: no network
from urllib.request import urlopen

result = urlopen("https://example.org", timeout=5).read().decode()
