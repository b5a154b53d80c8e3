# title: a frame's own plot method
# packages: pandas matplotlib
# expect: ok
# check: "frame.png" in files
import matplotlib.pyplot as plt
import pandas as pd

df = pd.DataFrame({"2023": [1, 2, 3], "2024": [2, 3, 5]}, index=["jan", "feb", "mar"])
ax = df.plot(kind="bar", rot=0, title="Sales")
ax.set_ylabel("units")
plt.savefig("frame.png")
