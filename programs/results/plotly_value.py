# title: a figure of plotly
# packages: plotly
# expect: ok
import plotly.express as px

result = px.bar(x=["a", "b"], y=[1, 2])
