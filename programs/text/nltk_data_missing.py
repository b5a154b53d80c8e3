# title: tokenizing with data that is not installed
# packages: nltk
# expect: error LookupError
# says: wordpunct_tokenize
# outside: no
from nltk.tokenize import word_tokenize

result = word_tokenize("The battery lasts long, but the screen broke!")
