# title: a progress bar that fits a notebook
# packages: tqdm
# expect: ok
# check: result == 10
from tqdm.auto import trange

result = sum(1 for _ in trange(10, desc="work"))
