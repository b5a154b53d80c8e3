# title: a heat map of correlations
# packages: seaborn pandas matplotlib numpy
# expect: ok
# check: "heat.png" in files
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

df = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 4)), columns=list("wxyz"))
sns.set_theme(style="white")
sns.heatmap(df.corr(), annot=True, fmt=".2f", cmap="vlag")
plt.savefig("heat.png")
