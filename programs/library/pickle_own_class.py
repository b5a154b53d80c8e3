# title: pickles an object of its own class
# expect: ok
# check: result == 1
# agent: refuse
import pickle

class Foo:
    def __init__(self):
        self.a = 1

result = pickle.loads(pickle.dumps(Foo())).a
