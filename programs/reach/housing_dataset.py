# title: an example set that scikit-learn would download
# packages: sklearn
# expect: refuse
# says: no network
from sklearn.datasets import fetch_california_housing

result = fetch_california_housing().data.shape
