# title: reads a CSV file by its address
# packages: pandas
# expect: refuse
# says: no network
import pandas as pd

df = pd.read_csv("https://raw.githubusercontent.com/mwaskom/seaborn-data/master/iris.csv")
result = df.shape
