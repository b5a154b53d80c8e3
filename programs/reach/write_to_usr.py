# title: makes a folder at the top
# expect: refuse
# says: current directory
import os

os.makedirs("/data/output")
