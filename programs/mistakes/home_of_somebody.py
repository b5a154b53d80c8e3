# title: a path on the author's own computer
# expect: error FileNotFoundError
# says: as input
with open("/Users/ann/Documents/data.txt") as f:
    result = f.read()
