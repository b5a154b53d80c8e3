# title: a small network trained by hand
# packages: numpy
# expect: ok
# check: result == [0, 1, 1, 0]
import numpy as np

rng = np.random.default_rng(3)
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
y = np.array([[0], [1], [1], [0]])
W1, b1 = rng.normal(size=(2, 8)), np.zeros(8)
W2, b2 = rng.normal(size=(8, 1)), np.zeros(1)
for _ in range(5000):
    h = np.tanh(X @ W1 + b1)
    p = 1 / (1 + np.exp(-(h @ W2 + b2)))
    d2 = p - y
    d1 = d2 @ W2.T * (1 - h**2)
    W2 -= 0.3 * h.T @ d2
    b2 -= 0.3 * d2.sum(0)
    W1 -= 0.3 * X.T @ d1
    b1 -= 0.3 * d1.sum(0)
result = (p.ravel() > 0.5).astype(int).tolist()
