# title: items of a list in a page
# packages: bs4 lxml
# expect: ok
# check: result == ["a", "b"]
from bs4 import BeautifulSoup

soup = BeautifulSoup("<ul><li>a</li><li>b</li></ul>", "lxml")
result = [li.text for li in soup.find_all("li")]
