# title: a chart of seaborn that is left open
# packages: seaborn
# expect: ok
# check: [one.media_type for one in displays] == ["image/png"]
# check: len(set(pixels(displays[0]))) > 10
import seaborn as sns

sns.barplot(x=["a", "b"], y=[1, 2])
