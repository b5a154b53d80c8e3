# title: a bar chart as base64 text
# packages: matplotlib
# expect: ok
# check: result.startswith("iVBORw0KGgo")
import base64
import io
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
ax.bar(["a", "b", "c"], [1, 3, 2])
buf = io.BytesIO()
fig.savefig(buf, format="png")
result = base64.b64encode(buf.getvalue()).decode()
