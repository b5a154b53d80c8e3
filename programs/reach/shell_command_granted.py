# title: a shell command where processes are granted
# grant: processes=4
# expect: refuse
# says: other program
import subprocess

result = subprocess.run(["ls", "-l"], capture_output=True, text=True).stdout
