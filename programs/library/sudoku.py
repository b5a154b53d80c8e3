# title: solves a small puzzle by search
# expect: ok
# check: result == 92
def queens(n, row=0, cols=0, diag=0, anti=0):
    if row == n:
        return 1
    count, free = 0, ~(cols | diag | anti) & ((1 << n) - 1)
    while free:
        bit = free & -free
        free ^= bit
        count += queens(n, row + 1, cols | bit, (diag | bit) << 1, (anti | bit) >> 1)
    return count

result = queens(8)
