# title: leaves with os._exit
# expect: crash
# says: os._exit
import os

print("bye")
os._exit(3)
