# title: one chart for each group
# packages: matplotlib pandas
# expect: ok
# check: {"north.png", "south.png"} <= set(files)
import matplotlib.pyplot as plt
import pandas as pd

df = pd.DataFrame({"area": ["north", "north", "south"], "day": [1, 2, 1], "n": [3, 4, 5]})
for area, part in df.groupby("area"):
    fig, ax = plt.subplots()
    ax.plot(part["day"], part["n"], marker="o")
    ax.set_title(area)
    fig.savefig(f"{area}.png")
    plt.close(fig)
