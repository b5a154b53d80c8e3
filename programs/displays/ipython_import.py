# title: imports what only a notebook has
# expect: ok
# outside: no
# check: [(one.media_type, one.text) for one in displays] == [("text/plain", "x")]
from IPython.display import display

display("x")
