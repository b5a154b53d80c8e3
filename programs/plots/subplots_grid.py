# title: four charts in a grid
# packages: matplotlib numpy
# expect: ok
# check: "grid.png" in files
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(42)
fig, axes = plt.subplots(2, 2, figsize=(8, 6))
axes[0, 0].scatter(rng.random(50), rng.random(50), c=rng.random(50), cmap="viridis")
axes[0, 1].pie([30, 50, 20], labels=["x", "y", "z"], autopct="%1.0f%%")
axes[1, 0].imshow(rng.random((10, 10)), cmap="hot")
axes[1, 1].boxplot([rng.normal(size=30) for _ in range(3)])
fig.suptitle("overview")
fig.tight_layout()
fig.savefig("grid.png")
result = len(fig.axes)
