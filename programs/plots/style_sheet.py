# title: a style sheet for a chart
# packages: matplotlib
# expect: ok
# check: "styled.png" in files
import matplotlib.pyplot as plt

plt.style.use("ggplot")
plt.plot([1, 4, 9])
plt.savefig("styled.png")
