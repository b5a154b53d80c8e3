# title: fills, drops and counts missing values
# packages: pandas numpy
# expect: ok
# check: result == {"missing": 3, "filled": [1.0, 2.0, 3.0, 4.0], "complete": 2}
import numpy as np
import pandas as pd

df = pd.DataFrame({"x": [1.0, np.nan, 3.0, 4.0], "y": ["a", None, None, "d"]})
result = {
    "missing": int(df.isna().sum().sum()),
    "filled": df["x"].interpolate().tolist(),
    "complete": len(df.dropna()),
}
