# title: a file where another product keeps uploads
# packages: pandas
# expect: error FileNotFoundError
# says: as input
import pandas as pd

df = pd.read_csv("/mnt/data/sales.csv")
result = len(df)
