# id: AV-22-a
# title: raises an exception with a very long message
# walls: full nested
# first: frames
# second: engine count
# expect: exception
# control: none: a message is cut, and no limit of a policy says where
"""The message and its type's name are the guest's own and go into the outcome."""

error = type("E" * 1_000_000, (Exception,), {})
raise error("x" * 20_000_000)
