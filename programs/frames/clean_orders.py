# title: orders of several notations cleaned, summed, drawn and saved
# packages: pandas matplotlib pyarrow
# expect: ok
# check: result['rows'] == 5 and result['missing']['date'] == 1
# check: result['by_region'][1] == {'region': 'north', 'sum': 3234.5, 'mean': 1617.25, 'count': 2}
# check: {'clean.csv', 'clean.parquet', 'report.png', 'report.pdf', 'report.svg'} <= set(files)
import io
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

raw = """order id;Customer ;date;amount;currency;region
1001;Acme GmbH;2024-01-03;1.234,50;EUR;north
1002; Beta Ltd;03/02/2024;99,90;EUR;South
1002; Beta Ltd;03/02/2024;99,90;EUR;South
1003;Gamma;2024-02-30;12,00;EUR;east
1004;;2024-03-05;n/a;EUR;West
1005;Delta;05.03.2024;2.000,00;EUR;NORTH
"""
with open("orders.csv", "w", encoding="utf-8") as f:
    f.write(raw * 1)

df = pd.read_csv("orders.csv", sep=";", dtype=str)
df.columns = [c.strip().lower().replace(" ", "_") for c in df.columns]
df = df.drop_duplicates()
df["customer"] = df["customer"].str.strip().replace("", np.nan)
df["amount"] = pd.to_numeric(
    df["amount"].str.replace(".", "", regex=False).str.replace(",", ".", regex=False), errors="coerce")

def parse(d):
    for fmt in ("%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y"):
        t = pd.to_datetime(d, format=fmt, errors="coerce")
        if not pd.isna(t):
            return t
    return pd.NaT

df["date"] = df["date"].map(parse)
df["region"] = df["region"].str.lower().astype("category")
df["month"] = df["date"].dt.to_period("M")
summary = df.dropna(subset=["amount"]).groupby("region", observed=True)["amount"].agg(["sum", "mean", "count"])
print(df.info())
print(summary.to_string())

fig, axes = plt.subplots(1, 2, figsize=(9, 4), constrained_layout=True)
summary["sum"].plot.bar(ax=axes[0], title="Umsatz je Region (€)")
df.set_index("date")["amount"].dropna().sort_index().plot(ax=axes[1], marker="o")
axes[1].set_title("Over time")
fig.savefig("report.png", dpi=120)
fig.savefig("report.pdf")
fig.savefig("report.svg")
df.to_csv("clean.csv", index=False)
df.drop(columns="month").to_parquet("clean.parquet")
plt.show()
result = {"rows": len(df), "missing": df.isna().sum(), "by_region": summary.round(2), "last": df["date"].max()}
