# title: two fences that belong together
# extract: yes
# expect: ok
# check: result == 3
First define the function:

```py
def add(a, b):
    return a + b
```

then call it:

~~~python
result = add(1, 2)
~~~
