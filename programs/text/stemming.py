# title: stems of words
# packages: nltk
# expect: ok
# check: result == ["run", "fli", "easili"]
from nltk.stem import PorterStemmer

stemmer = PorterStemmer()
result = [stemmer.stem(w) for w in "running flies easily".split()]
