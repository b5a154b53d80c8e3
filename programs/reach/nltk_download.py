# title: a model that nltk would download
# packages: nltk
# expect: refuse
# says: no network
import nltk

nltk.download("punkt", raise_on_error=True)
from nltk.tokenize import word_tokenize

result = word_tokenize("Hello there world")
