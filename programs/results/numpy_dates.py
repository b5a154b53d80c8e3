# title: dates of numpy
# packages: numpy
# expect: ok
# check: str(result[0]).startswith("2024-01-31")
import numpy as np

result = np.array(["2024-01-31", "2024-02-01"], dtype="datetime64[D]")
