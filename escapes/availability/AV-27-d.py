# id: AV-27-d
# title: computes with a decimal of enormous precision
# walls: full nested
# first: engine count
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=1073741824
"""The sum of a huge and a tiny number, written out digit by digit."""

import decimal

decimal.getcontext().prec = 300_000_000
decimal.getcontext().Emax = decimal.MAX_EMAX
result = (decimal.Decimal("1e200000000") + 1).adjusted()
