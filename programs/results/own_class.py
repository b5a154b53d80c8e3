# title: an object of its own class
# expect: ok
class Thing:
    def __repr__(self):
        return "<a thing>"

result = Thing()
