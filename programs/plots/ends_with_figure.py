# title: ends with the figure as its last expression
# packages: matplotlib
# expect: ok
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
ax.plot([1, 2, 3])
fig
