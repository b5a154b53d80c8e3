# title: shows a figure of plotly
# packages: plotly
# expect: ok
# outside: no
import plotly.express as px

fig = px.bar(x=["a", "b"], y=[1, 2])
fig.show()
