# title: a red chart that is only shown
# packages: matplotlib
# expect: ok
# check: [one.media_type for one in displays] == ["image/png"]
# check: pixels(displays[0]).count((255, 0, 0)) > 10_000
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(3, 2))
ax.set_facecolor("red")
plt.show()
