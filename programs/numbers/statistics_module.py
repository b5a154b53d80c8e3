# title: mean, median and deviation without packages
# expect: ok
# check: result == {"mean": 5, "median": 4.5, "stdev": 2.138}
import statistics as st

data = [2, 4, 4, 4, 5, 5, 7, 9]
result = {"mean": st.mean(data), "median": st.median(data), "stdev": round(st.stdev(data), 3)}
