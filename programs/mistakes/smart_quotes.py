# title: quotation marks of a word processor
# expect: error SyntaxError
result = “hello”
