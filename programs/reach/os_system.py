# title: a command with os.popen
# expect: refuse
# says: other program
import os

result = os.popen("whoami").read().strip() or os.popen("id").read()
