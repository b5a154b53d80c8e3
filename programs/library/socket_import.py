# title: imports socket and asks only for its name
# expect: ok
# check: isinstance(result, str)
# agent: refuse
import socket

result = socket.gethostname()
