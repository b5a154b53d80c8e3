# title: a frame as the last expression
# packages: pandas
# expect: ok
# check: result == [{"city": "Bern", "n": 1}, {"city": "Biel", "n": 2}]
# check: [one.media_type for one in displays] == ["text/html"]
# check: "<td>Bern</td>" in displays[0].html
import pandas as pd

frame = pd.DataFrame({"city": ["Bern", "Biel"], "n": [1, 2]})
frame
