# title: an install line with a percent sign
# expect: error SyntaxError
# says: installed
# agent: refuse
%pip install cowsay
import cowsay
