# title: a command with os.popen
# expect: refuse
# says: other program
# agent: refuse
import os

result = os.popen("whoami").read().strip() or os.popen("id").read()
