# title: narrower types save memory
# packages: pandas numpy
# expect: ok
# check: result is True
import numpy as np
import pandas as pd

df = pd.DataFrame({"n": np.arange(100_000), "c": ["x", "y"] * 50_000})
before = df.memory_usage(deep=True).sum()
df["n"] = pd.to_numeric(df["n"], downcast="unsigned")
df["c"] = df["c"].astype("category")
result = bool(df.memory_usage(deep=True).sum() < before / 2)
