# title: a chart from graph objects, as JSON
# packages: plotly
# expect: ok
# check: result == {"traces": 2, "title": "Quarters"}
import json
import plotly.graph_objects as go

fig = go.Figure()
fig.add_trace(go.Bar(name="2023", x=["Q1", "Q2"], y=[3, 4]))
fig.add_trace(go.Bar(name="2024", x=["Q1", "Q2"], y=[4, 6]))
fig.update_layout(title="Quarters", barmode="group")
body = json.loads(fig.to_json())
result = {"traces": len(body["data"]), "title": body["layout"]["title"]["text"]}
