# title: an install line of a notebook
# expect: error SyntaxError
# says: installed
# agent: refuse
!pip install cowsay
import cowsay
