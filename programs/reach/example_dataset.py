# title: an example set that seaborn would download
# packages: seaborn
# expect: refuse
# says: no network
import seaborn as sns

df = sns.load_dataset("tips")
result = df.shape
