# title: what machine this is
# expect: ok
# check: len(result) == 5
import os
import platform
import sys

result = [platform.platform(), platform.node(), sys.version, os.cpu_count(), os.getcwd()]
