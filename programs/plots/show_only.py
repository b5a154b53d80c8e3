# title: a chart that is shown and not saved
# packages: matplotlib
# expect: ok
import matplotlib.pyplot as plt

plt.plot([1, 2, 3], [4, 5, 6])
plt.title("Sales")
plt.xlabel("month")
plt.show()
