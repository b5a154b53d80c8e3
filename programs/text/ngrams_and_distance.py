# title: pairs of words and the distance of spellings
# packages: nltk
# expect: ok
# check: result == [[["a", "b"], ["b", "c"]], 3]
from nltk.metrics import edit_distance
from nltk.util import ngrams

result = [[list(g) for g in ngrams("a b c".split(), 2)], edit_distance("kitten", "sitting")]
