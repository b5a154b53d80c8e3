# id: PRO-20-b
# title: raises what commands a terminal
# walls: full nested
# first: frames
# second: none
# expect: exception
# control: none: a terminal is only commanded by the command line
"""The name of an exception, its text and its traceback are shown to a person."""

code = "\x1b]0;title\x07\x1b[2J\r\x9b31m\u202e"
raise type("Odd" + code, (Exception,), {})(code)
# ---
import os

body = rb'{"failed":{"type":"\u001b[2Jx","message":"\u001b]0;t\u0007","traceback":"\u001b[2J\r"}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = rb'{"bad_result":{"fault":"not_json","detail":"\u001b]0;t\u0007\r\n"}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
