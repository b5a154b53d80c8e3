# title: asks an address with requests
# packages: requests
# expect: refuse
# says: no network
import requests

r = requests.get("https://api.github.com/users/octocat", timeout=10)
r.raise_for_status()
result = r.json()["login"]
