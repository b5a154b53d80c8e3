# title: seasons, two forecasts and their plots
# packages: statsmodels matplotlib pandas
# expect: ok
# check: result['hw'] < 10 and result['sarima'] < 10
# check: {'stl.png', 'forecast.png', 'acf.png'} <= set(files)
import warnings
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from statsmodels.tsa.holtwinters import ExponentialSmoothing
from statsmodels.tsa.seasonal import STL
from statsmodels.tsa.statespace.sarimax import SARIMAX
from statsmodels.tsa.stattools import adfuller

warnings.filterwarnings("ignore")
rng = np.random.default_rng(1)
index = pd.date_range("2016-01-01", periods=96, freq="MS", tz="Europe/Berlin")
y = pd.Series(100 + np.arange(96) * 0.8 + 12 * np.sin(np.arange(96) * 2 * np.pi / 12) + rng.normal(0, 2, 96), index=index, name="sales")
y = y.tz_localize(None).asfreq("MS")
adf = adfuller(y)[1]
stl = STL(y, period=12).fit()
train, test = y[:-12], y[-12:]
hw = ExponentialSmoothing(train, trend="add", seasonal="add", seasonal_periods=12).fit().forecast(12)
sarima = SARIMAX(train, order=(1, 1, 1), seasonal_order=(0, 1, 1, 12)).fit(disp=False)
forecast = sarima.get_forecast(12)
ci = forecast.conf_int()
fig = stl.plot()
fig.savefig("stl.png")
fig, ax = plt.subplots()
y.plot(ax=ax)
forecast.predicted_mean.plot(ax=ax, style="--")
ax.fill_between(ci.index, ci.iloc[:, 0], ci.iloc[:, 1], alpha=0.2)
plt.savefig("forecast.png")
sm.graphics.tsa.plot_acf(y, lags=24).savefig("acf.png")
print(sarima.summary())
mape = lambda a, b: float((abs(a - b) / a).mean() * 100)
result = {"adf": adf, "hw": mape(test, hw), "sarima": mape(test, forecast.predicted_mean), "next": forecast.predicted_mean.head(3)}
