# title: a table of Arrow
# packages: pyarrow
# expect: ok
import pyarrow as pa

result = pa.table({"a": [1, 2]})
