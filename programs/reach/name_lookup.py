# title: looks up a name
# expect: refuse
# says: no network
import socket

result = socket.gethostbyname("example.org")
