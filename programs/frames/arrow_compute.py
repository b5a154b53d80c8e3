# title: sums and filters with Arrow
# packages: pyarrow
# expect: ok
# check: result == [10, [3, 4]]
import pyarrow as pa
import pyarrow.compute as pc

a = pa.array([1, 2, 3, 4])
result = [pc.sum(a).as_py(), a.filter(pc.greater(a, 2)).to_pylist()]
