# title: addresses of a network
# expect: ok
# check: result == [6, True]
import ipaddress

net = ipaddress.ip_network("10.0.0.0/29")
result = [len(list(net.hosts())), ipaddress.ip_address("10.0.0.3") in net]
