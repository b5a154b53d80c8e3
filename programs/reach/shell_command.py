# title: lists files with a shell command
# expect: refuse
# says: other program
import subprocess

result = subprocess.run(["ls", "-l"], capture_output=True, text=True).stdout
