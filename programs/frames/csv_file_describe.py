# title: writes a CSV file, reads it back and describes it
# packages: pandas
# expect: ok
# check: result == 3
# check: "mean" in stdout
import pandas as pd

with open("data.csv", "w") as f:
    f.write("a,b\n1,2\n3,4\n5,6\n")

df = pd.read_csv("data.csv")
print(df.describe())
result = len(df)
