# id: XRN-09-a
# title: seeds the generators and tries to foresee what the next run draws
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""A generator whose state one run can set, or guess, is no generator for another."""

import random

random.seed(context["number"])
try:
    import numpy

    numpy.random.seed(context["number"] % 2**32)
except ImportError:
    pass
# ---
import os
import random
import time

guesses = [context["number"], 0, 1, 42, os.getpid(), os.getppid(), int(time.time())]
drawn = random.random()
if any(random.Random(guess).random() == drawn for guess in guesses):
    result = context["flag"]
try:
    import numpy

    drawn = numpy.random.random()
    if numpy.random.RandomState(context["number"] % 2**32).random_sample() == drawn:
        result = context["flag"]
except ImportError:
    pass
