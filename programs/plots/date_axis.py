# title: dates on an axis
# packages: matplotlib pandas
# expect: ok
# check: "dates.png" in files
import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import pandas as pd

days = pd.date_range("2024-01-01", periods=60)
fig, ax = plt.subplots()
ax.plot(days, range(60))
ax.xaxis.set_major_formatter(mdates.DateFormatter("%d %b"))
fig.autofmt_xdate()
fig.savefig("dates.png")
