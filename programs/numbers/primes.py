# title: a sieve of primes
# expect: ok
# check: result == 78498
def sieve(n):
    flags = bytearray([1]) * (n + 1)
    flags[0] = flags[1] = 0
    for i in range(2, int(n**0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = bytes(len(flags[i * i :: i]))
    return sum(flags)

result = sieve(1_000_000)
