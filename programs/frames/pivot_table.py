# title: a pivot table of sales by quarter and product
# packages: pandas
# expect: ok
# check: result == {"Q1": {"desk": 4, "lamp": 3}, "Q2": {"desk": 0, "lamp": 7}}
import pandas as pd

df = pd.DataFrame(
    {
        "quarter": ["Q1", "Q1", "Q2", "Q1"],
        "product": ["lamp", "desk", "lamp", "desk"],
        "qty": [3, 1, 7, 3],
    }
)
table = df.pivot_table(index="product", columns="quarter", values="qty", aggfunc="sum", fill_value=0)
print(table)
result = {q: {p: int(v) for p, v in col.items()} for q, col in table.to_dict().items()}
