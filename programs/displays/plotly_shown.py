# title: a figure of plotly that is shown, and one that is the answer
# packages: plotly
# expect: ok
# outside: no
# check: [one.media_type for one in displays] == ["application/vnd.plotly.v1+json"] * 2
# check: displays[0].json["data"][0]["type"] == "bar"
# check: displays[0].json["data"][0]["x"] == ["a", "b"]
# check: displays[1].json["layout"]["title"]["text"] == "Sales"
import plotly.express as px
import plotly.graph_objects as go

px.bar(x=["a", "b"], y=[1, 2]).show()
go.Figure(go.Scatter(x=[1, 2], y=[3, 4]), layout={"title": {"text": "Sales"}})
