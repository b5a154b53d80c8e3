# title: a frame of 100,000 rows
# packages: pandas numpy
# expect: ok
import numpy as np
import pandas as pd

result = pd.DataFrame(np.zeros((100_000, 3)), columns=list("abc"))
