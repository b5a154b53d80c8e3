# id: CON-22-a
# title: finds a secret in its environment
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""The first program stands for an engine with keys in its environment. The second looks for them,
and for any variable that was not made for the jar."""

import os

for name in ("SECRET_KEY", "AWS_SECRET_ACCESS_KEY", "API_TOKEN", "SSH_AUTH_SOCK", "PYTHONPATH"):
    os.environ[name] = context["flag"]
# ---
import os

known = {"HOME", "LANG", "TMPDIR", "PATH", "LC_CTYPE", "TZ", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
         "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "LD_BIND_NOW", "USER", "LOGNAME",
         "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
         "LOKY_MAX_CPU_COUNT", "JE_ARROW_MALLOC_CONF", "_RJEM_MALLOC_CONF"}
made = {"USER": "jar", "LOGNAME": "jar", "TZ": "UTC"}
everything = dict(os.environ)
everything.update((os.fsdecode(name), os.fsdecode(value)) for name, value in os.environb.items())
strange = sorted(set(everything) - known)
strange += [name for name in made if everything.get(name) not in (made[name], None)]
result = [list(everything.values()), strange]
if strange:
    result.append(context["flag"])
