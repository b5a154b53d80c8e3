# id: INT-30-d
# title: writes into objects of the warm interpreter
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""The memory of a jar begins as that of the zygote. Bytes of an object that every jar inherits are
overwritten through a pointer; the next jar looks at them."""

import ctypes
import sys

text = sys.copyright
start = sys.getsizeof("") - 1
flag = context["flag"].encode()
ctypes.memmove(id(text) + start, flag, len(flag))
# ---
import sys

result = sys.copyright if context["flag"] in sys.copyright else None
