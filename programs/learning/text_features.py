# title: weighted words and the nearest document
# packages: sklearn
# expect: ok
# check: result == 0
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

docs = ["the cat sat on the mat", "dogs chase cars", "stock prices fell"]
vectorizer = TfidfVectorizer(stop_words="english")
matrix = vectorizer.fit_transform(docs)
result = int(cosine_similarity(vectorizer.transform(["a cat on a mat"]), matrix).argmax())
