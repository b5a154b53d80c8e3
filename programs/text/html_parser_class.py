# title: a parser of one's own
# expect: ok
# check: result == ["x.png", "y.png"]
from html.parser import HTMLParser

class Images(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.found.append(dict(attrs)["src"])

p = Images()
p.feed("<img src='x.png'><p><img src='y.png'></p>")
result = p.found
