# title: looks up a name
# expect: refuse
# says: no network
# agent: refuse
import socket

result = socket.gethostbyname("example.org")
