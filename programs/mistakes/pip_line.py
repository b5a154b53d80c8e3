# title: an install line of a notebook
# expect: error SyntaxError
# says: installed
!pip install cowsay
import cowsay
