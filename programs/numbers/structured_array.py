# title: sorts records by a field
# packages: numpy
# expect: ok
# check: result == ["Bo", "Al"]
import numpy as np

people = np.array([("Al", 40), ("Bo", 30)], dtype=[("name", "U10"), ("age", "i4")])
result = np.sort(people, order="age")["name"].tolist()
