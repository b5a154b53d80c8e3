# title: formulas in labels
# packages: matplotlib numpy
# expect: ok
# check: "formula.png" in files
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(-2, 2, 100)
plt.plot(x, np.exp(-x**2), label=r"$e^{-x^2}$")
plt.title(r"$\int e^{-x^2} dx = \sqrt{\pi}$")
plt.legend()
plt.savefig("formula.png")
