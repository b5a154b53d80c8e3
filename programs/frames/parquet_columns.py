# title: reads two columns of a partitioned Parquet dataset
# packages: pandas pyarrow
# expect: ok
# check: result == {"rows": 2, "columns": ["id", "year"]}
import pandas as pd

df = pd.DataFrame({"year": [2023, 2024, 2024], "id": [1, 2, 3], "note": ["x", "y", "z"]})
df.to_parquet("sales", partition_cols=["year"])
back = pd.read_parquet("sales", columns=["id", "year"], filters=[("year", "==", 2024)])
result = {"rows": len(back), "columns": list(back.columns)}
