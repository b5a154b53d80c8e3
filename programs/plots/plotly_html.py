# title: an interactive chart as a page
# packages: plotly
# expect: ok
# check: "chart.html" in files
import plotly.express as px

fig = px.scatter(x=[1, 2, 3], y=[3, 1, 2], title="demo")
fig.write_html("chart.html", include_plotlyjs="cdn")
result = fig.to_json()[:20]
