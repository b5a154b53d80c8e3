# title: a backend that shows windows
# packages: matplotlib
# expect: error ImportError
# says: no window can be shown
# says: savefig
# outside: no
import matplotlib

matplotlib.use("TkAgg")
import matplotlib.pyplot as plt

plt.plot([1, 4, 9])
plt.show()
