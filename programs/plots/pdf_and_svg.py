# title: a chart with a font that is not there, as PDF and SVG
# packages: matplotlib
# expect: ok
# check: "a.pdf" in files and "a.svg" in files
import matplotlib.pyplot as plt

plt.rcParams["font.family"] = "Arial"
plt.plot([1])
plt.title("Umsatz €")
plt.savefig("a.pdf")
plt.savefig("a.svg")
result = 1
