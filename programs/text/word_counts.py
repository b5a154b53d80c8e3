# title: the most frequent words
# expect: ok
# check: result == [["the", 3], ["cat", 2]]
import re
from collections import Counter

text = "The cat saw the dog. The dog ran; a cat hid!"
words = re.findall(r"[a-z]+", text.lower())
result = [list(pair) for pair in Counter(words).most_common(2)]
