# title: what info() says of a frame
# packages: pandas
# expect: ok
# check: "2 non-null" in result
import io
import pandas as pd

df = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
buffer = io.StringIO()
df.info(buf=buffer)
result = buffer.getvalue()
