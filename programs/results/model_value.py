# title: a trained model as the result
# packages: sklearn
# expect: ok
from sklearn.linear_model import LinearRegression

result = LinearRegression().fit([[1], [2]], [1, 2])
