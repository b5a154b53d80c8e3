# title: trend and season of a series
# packages: statsmodels pandas numpy
# expect: ok
# check: result == 7
import numpy as np
import pandas as pd
from statsmodels.tsa.seasonal import seasonal_decompose

index = pd.date_range("2020-01-01", periods=48, freq="MS")
values = np.arange(48) + 5 * np.sin(np.arange(48) * 2 * np.pi / 12)
parts = seasonal_decompose(pd.Series(values, index=index), period=12)
result = int(parts.seasonal.round(6).nunique())
