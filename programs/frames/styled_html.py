# title: a frame as styled HTML
# packages: pandas
# expect: ok
# check: "<table" in result
import pandas as pd

df = pd.DataFrame({"a": [1.234, 5.678]})
result = df.style.format("{:.1f}").to_html()
