# title: a fence in prose, taken out with extract()
# extract: yes
# expect: ok
# check: result == 2
Here is the code:

```python
result = 1 + 1
```

It adds two numbers.
