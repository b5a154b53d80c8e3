# id: AV-36-c
# title: makes every kind of refused call once to lengthen the report
# walls: full nested
# first: seccomp
# second: engine count
# expect: ok
# denies: socket execve ptrace mount bpf io_uring_setup setuid mknod
# control: none: most of these calls must not be tried outside of a jar
"""The outcome names each call that was refused. The list is bounded by the profile, and its entries
are names, not words of the guest."""

import ctypes

libc = ctypes.CDLL(None)
refused = [41, 42, 49, 50, 43, 288, 47, 299, 307, 59, 322, 62, 200, 234, 129, 297, 424]
refused += [101, 310, 311, 312, 434, 438, 298, 103, 212, 274, 303, 304, 300, 301, 253, 294]
refused += [165, 166, 155, 161, 272, 308, 430, 431, 432, 433, 429, 428, 442, 170, 171, 321]
refused += [323, 250, 248, 249, 175, 313, 176, 246, 167, 168, 163, 179, 172, 173, 154, 135]
refused += [158, 444, 445, 446, 164, 227, 159, 305, 425, 426, 427, 206, 207, 208, 209, 210]
refused += [319, 447, 29, 30, 31, 67, 64, 65, 66, 68, 69, 70, 71, 240, 241, 151, 325]
refused += [105, 106, 113, 114, 117, 119, 122, 123, 116, 126, 112, 109, 160, 141, 203, 144]
refused += [86, 265, 133, 259, 92, 93, 94, 260, 188, 189, 190, 275, 276, 278, 222, 283]
for number in refused:
    libc.syscall(number, -1, -1, -1, -1, -1, -1)
result = len(refused)
