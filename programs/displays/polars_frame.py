# title: a frame of polars that is displayed
# packages: polars
# expect: ok
# outside: no
# check: [one.media_type for one in displays] == ["text/html"]
# check: "Bern" in displays[0].html
import polars as pl

display(pl.DataFrame({"city": ["Bern"], "n": [1]}))
