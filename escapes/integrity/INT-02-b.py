# id: INT-02-b
# title: leaves poisoned bytecode beside a module
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Bytecode marked as not to be checked is run instead of the source. It is put beside modules of
the standard library, beside a module in the jar, and looked for in the next run."""

import importlib.util
import os
import sys
import tempfile
from importlib._bootstrap_external import _code_to_hash_pyc

code = compile("import sys\nsys.bj_bytecode = %r\n" % context["flag"], "colorsys.py", "exec")
poison = _code_to_hash_pyc(code, b"\0" * 8, False)
for root in [context["folder"], *sys.path, tempfile.gettempdir(), os.getcwd()]:
    source = os.path.join(root, "colorsys.py")
    cache = importlib.util.cache_from_source(source)
    try:
        if not os.path.exists(source):
            open(source, "x").close()
        os.makedirs(os.path.dirname(cache), exist_ok=True)
        if os.path.exists(cache):
            os.unlink(cache)
        open(cache, "xb").write(poison)
        sys.path.insert(0, root)
        if root == context["folder"]:
            break
    except OSError:
        pass
# ---
import sys

sys.modules.pop("colorsys", None)
import colorsys

result = getattr(sys, "bj_bytecode", None)
