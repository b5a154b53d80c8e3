# title: a box plot with seaborn
# packages: seaborn pandas matplotlib numpy
# expect: ok
# check: result == "ok" and "box.png" in files
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

rng = np.random.default_rng(0)
df = pd.DataFrame({"x": rng.normal(size=100), "g": rng.choice(list("ab"), 100)})
sns.boxplot(data=df, x="g", y="x")
plt.savefig("box.png")
result = "ok"
