# title: numbers and categories from a frame
# packages: sklearn pandas
# expect: ok
# check: result == 1.0
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

df = pd.DataFrame(
    {"age": [20, 35, None, 60], "city": ["a", "b", "a", "b"], "buys": [0, 1, 0, 1]}
)
numbers = Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler())])
both = ColumnTransformer([("num", numbers, ["age"]), ("cat", OneHotEncoder(), ["city"])])
model = Pipeline([("prep", both), ("tree", DecisionTreeClassifier(random_state=0))])
model.fit(df[["age", "city"]], df["buys"])
result = float(model.score(df[["age", "city"]], df["buys"]))
