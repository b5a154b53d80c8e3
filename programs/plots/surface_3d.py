# title: a surface in three dimensions
# packages: matplotlib numpy
# expect: ok
# check: "surface.png" in files
import matplotlib.pyplot as plt
import numpy as np

x, y = np.meshgrid(np.linspace(-2, 2, 30), np.linspace(-2, 2, 30))
fig = plt.figure()
ax = fig.add_subplot(projection="3d")
ax.plot_surface(x, y, np.sin(x) * np.cos(y), cmap="coolwarm")
fig.savefig("surface.png")
