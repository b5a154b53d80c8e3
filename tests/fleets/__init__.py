"""Faults in a real fleet: brokers, workers and gateways, each in a network of its own on one machine.

`world` makes the fleet and breaks it, `load` sends runs and judges what came back, `__main__` has the cases.
The networks, mounts and processes are in namespaces that end with the test, whatever becomes of it.
"""
