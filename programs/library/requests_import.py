# title: imports requests and builds a request without sending it
# packages: requests
# expect: ok
# check: result == "https://example.org/?q=1"
# agent: refuse
import requests

result = requests.Request("GET", "https://example.org/", params={"q": 1}).prepare().url
