# title: a Parquet file as an Arrow dataset
# packages: pyarrow
# expect: ok
# check: result == 100000
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

table = pa.table({"a": list(range(100_000))})
pq.write_table(table, "p.parquet")
result = ds.dataset("p.parquet").to_table().num_rows
