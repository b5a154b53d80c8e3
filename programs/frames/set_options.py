# title: a frame printed in full
# packages: pandas numpy
# expect: ok
# check: "11" in stdout
import numpy as np
import pandas as pd

pd.set_option("display.max_rows", 500)
pd.set_option("display.width", 120)
print(pd.DataFrame(np.arange(12).reshape(4, 3), columns=list("abc")))
