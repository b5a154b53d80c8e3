# title: a program in a Markdown fence
# expect: error SyntaxError
# says: fence
# agent: refuse
```python
result = 1 + 1
```
