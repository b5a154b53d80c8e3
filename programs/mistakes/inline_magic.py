# title: a magic line of a notebook
# packages: matplotlib
# expect: error SyntaxError
# says: notebook
%matplotlib inline
import matplotlib.pyplot as plt
plt.plot([1, 2])
