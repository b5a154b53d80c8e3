# title: quotation marks of a word processor
# expect: error SyntaxError
# agent: refuse
result = “hello”
