# title: variables of the environment
# expect: ok
# check: result == ["1", "none"]
import os

os.environ["X"] = "1"
result = [os.environ["X"], os.environ.get("NOT_THERE", "none")]
