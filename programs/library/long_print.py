# title: prints a frame of three thousand rows
# packages: pandas numpy
# expect: ok
# check: result == "printed"
import numpy as np
import pandas as pd

pd.set_option("display.max_rows", None)
print(pd.DataFrame(np.random.rand(3000, 8)))
result = "printed"
