# title: text with half of a pair
# expect: ok
result = "a\ud800b"
