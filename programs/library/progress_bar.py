# title: a progress bar
# packages: tqdm
# expect: ok
# check: result == 499500
from tqdm import tqdm

total = 0
for i in tqdm(range(1000)):
    total += i
result = total
