# title: imports what only a notebook has
# expect: error ModuleNotFoundError
# says: not installed
from IPython.display import display

display("x")
