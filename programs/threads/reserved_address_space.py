# title: a large place kept free and used in part, as allocators do
# expect: ok
# agent: refuse
# check: result == 1073741824
import mmap

flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
arena = mmap.mmap(-1, 1 << 30, flags=flags, prot=0)
result = len(arena)
