# title: a regression line and a joint plot
# packages: seaborn pandas matplotlib numpy
# expect: ok
# check: "reg.png" in files
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

x = np.arange(30.0)
df = pd.DataFrame({"x": x, "y": 2 * x + np.random.default_rng(0).normal(size=30)})
sns.lmplot(data=df, x="x", y="y", n_boot=50)
plt.savefig("reg.png")
