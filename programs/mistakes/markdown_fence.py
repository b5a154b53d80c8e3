# title: a program in a Markdown fence
# expect: error SyntaxError
# says: fence
```python
result = 1 + 1
```
