# title: a forecast of three steps
# packages: statsmodels numpy
# expect: ok
# check: len(result) == 3
import numpy as np
from statsmodels.tsa.arima.model import ARIMA

series = np.cumsum(np.random.default_rng(0).normal(size=60))
result = [float(v) for v in ARIMA(series, order=(1, 1, 0)).fit().forecast(3)]
