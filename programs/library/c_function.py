# title: a function of the C library
# expect: ok
# check: result == 1.0
# agent: refuse
import ctypes

libm = ctypes.CDLL("libm.so.6")
libm.cos.restype = ctypes.c_double
libm.cos.argtypes = [ctypes.c_double]
result = libm.cos(0.0)
