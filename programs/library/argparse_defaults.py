# title: a command line without arguments
# expect: ok
# check: result == 5
import argparse

p = argparse.ArgumentParser()
p.add_argument("--n", type=int, default=5)
args = p.parse_args()
result = args.n
