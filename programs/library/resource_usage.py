# title: how much memory this program uses
# expect: ok
# check: result > 1000
import resource

result = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
