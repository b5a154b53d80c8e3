# title: bins ages into groups
# packages: pandas
# expect: ok
# check: result == {"child": 1, "adult": 2, "senior": 1}
import pandas as pd

ages = pd.Series([8, 30, 45, 70])
groups = pd.cut(ages, bins=[0, 17, 64, 120], labels=["child", "adult", "senior"])
result = groups.value_counts(sort=False).to_dict()
