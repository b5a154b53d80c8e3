# title: a command line of one's own
# expect: ok
# check: result == {"name": "ann", "loud": True}
# agent: refuse
import argparse

p = argparse.ArgumentParser(description="greets")
p.add_argument("name")
p.add_argument("--loud", action="store_true")
result = vars(p.parse_args(["ann", "--loud"]))
