# title: a file that nobody brought
# packages: pandas
# expect: error FileNotFoundError
# says: as input
import pandas as pd

result = len(pd.read_csv("sales.csv"))
