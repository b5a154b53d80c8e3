# title: links of a page with the parser of Python
# packages: bs4
# expect: ok
# check: result == {"Home": "/", "Shop": "/shop"}
from bs4 import BeautifulSoup

page = '<nav><a href="/">Home</a><a href="/shop">Shop</a></nav>'
result = {a.get_text(): a["href"] for a in BeautifulSoup(page, "html.parser").select("nav a")}
