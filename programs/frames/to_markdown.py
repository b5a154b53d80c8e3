# title: a frame as a Markdown table
# packages: pandas tabulate
# expect: ok
# check: result.splitlines()[0].startswith("|") and "lamp" in result
import pandas as pd

df = pd.DataFrame({"item": ["lamp", "desk"], "qty": [3, 1]})
result = df.to_markdown(index=False)
print(result)
