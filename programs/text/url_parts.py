# title: parts of an address
# expect: ok
# check: result == ["example.org", {"q": ["a b"], "n": ["1"]}, "a+b%26c"]
from urllib.parse import parse_qs, quote_plus, urlparse

url = urlparse("https://example.org/search?q=a%20b&n=1")
result = [url.netloc, parse_qs(url.query), quote_plus("a b&c")]
