# title: an install line with a percent sign
# expect: error SyntaxError
# says: installed
%pip install cowsay
import cowsay
