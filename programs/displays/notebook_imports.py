# title: written for a notebook
# expect: ok
# outside: no
# check: [one.media_type for one in displays] == ["text/html", "text/markdown"]
from IPython.display import HTML, Markdown, display

display(HTML("<b>total</b>"))
display(Markdown("**total**"))
