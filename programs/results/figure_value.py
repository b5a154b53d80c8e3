# title: a figure assigned to the result
# packages: matplotlib
# expect: ok
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
ax.plot([1, 2])
result = fig
