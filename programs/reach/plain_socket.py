# title: connects to an address
# expect: refuse
# says: no network
import socket

s = socket.socket()
s.connect(("8.8.8.8", 53))
