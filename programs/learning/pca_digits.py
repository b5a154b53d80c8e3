# title: principal components of pictures of digits
# packages: sklearn
# expect: ok
# check: result == [1797, 2]
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

result = list(PCA(n_components=2).fit_transform(load_digits().data).shape)
