# title: groups two million rows
# packages: pandas numpy
# expect: ok
# check: result == 100
import numpy as np
import pandas as pd

n = 2_000_000
df = pd.DataFrame(
    {"k": np.random.randint(0, 100, n), "v": np.random.rand(n), "w": np.random.rand(n)}
)
g = df.groupby("k").agg({"v": "mean", "w": "sum"})
result = len(g)
