# title: a warning is not an error
# expect: ok
# check: result == 2 and "old" in stderr
import warnings

warnings.warn("old way", UserWarning)
result = 2
