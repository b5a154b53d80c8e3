# title: a line chart in a file
# packages: matplotlib numpy
# expect: ok
# check: result == "plot.png" and "plot.png" in files
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 10, 200)
fig, ax = plt.subplots(figsize=(8, 5))
ax.plot(x, np.sin(x), label="sin")
ax.set_title("Sine wave: übung")
ax.legend()
plt.tight_layout()
plt.savefig("plot.png", dpi=120)
print("saved plot.png")
result = "plot.png"
