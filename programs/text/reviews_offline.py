# title: words of reviews counted without anything to download
# packages: nltk tiktoken
# expect: ok
# check: result['top'][0] == ['batteri', 3] and result['distance'] == 2
# check: 'no stopwords' in stdout and 'no encoding' in stdout
# outside: no
import collections
import json
import re
import nltk
from nltk.stem import PorterStemmer, SnowballStemmer
from nltk.tokenize import RegexpTokenizer, TreebankWordTokenizer, wordpunct_tokenize
from nltk.util import ngrams
from nltk.metrics import edit_distance
import tiktoken

reviews = ["The battery lasts long, but the screen broke!", "Great screen; battery so-so.",
           "Battery died after 2 days. Terrible.", "J'adore l'écran, la batterie moins."]
try:
    nltk.download("stopwords", quiet=True)
    stop = set(nltk.corpus.stopwords.words("english"))
except LookupError as error:
    print("no stopwords:", str(error).strip().splitlines()[1] if str(error).strip() else error)
    stop = {"the", "but", "so", "after"}
try:
    encoding = tiktoken.get_encoding("cl100k_base")
    count = lambda text: len(encoding.encode(text))
except Exception as error:
    print("no encoding:", type(error).__name__, error)
    encoding = tiktoken.Encoding(
        name="bytes", pat_str=r"\w+|\s+|[^\w\s]+",
        mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={})
    count = lambda text: len(encoding.encode(text))
stem, snow = PorterStemmer(), SnowballStemmer("french")
words = [stem.stem(w.lower()) for r in reviews[:3] for w in RegexpTokenizer(r"[A-Za-z]+").tokenize(r) if w.lower() not in stop]
bigrams = collections.Counter(ngrams(words, 2)).most_common(3)
freq = nltk.FreqDist(words)
with open("freq.json", "w") as f:
    json.dump(freq.most_common(5), f)
result = {
    "top": freq.most_common(2), "bigrams": bigrams, "tokens": [count(r) for r in reviews],
    "french": [snow.stem(w) for w in wordpunct_tokenize(reviews[3])], "distance": edit_distance("battery", "batterie"),
    "treebank": TreebankWordTokenizer().tokenize("Don't stop."),
    "numbers": re.findall(r"\d+", " ".join(reviews)),
}
