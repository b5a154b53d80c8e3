# title: a chart with a title in Chinese
# packages: matplotlib
# expect: ok
# check: "cjk.png" in files
import matplotlib.pyplot as plt

plt.rcParams["font.sans-serif"] = ["SimHei", "Noto Sans CJK SC", "DejaVu Sans"]
plt.rcParams["axes.unicode_minus"] = False
plt.bar(["一月", "二月"], [3, 5])
plt.title("销售额")
plt.savefig("cjk.png")
