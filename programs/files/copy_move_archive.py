# title: copies, moves and archives a tree
# expect: ok
# check: result == ["a", "arch.zip", "d"]
import os
import shutil

os.makedirs("a/b")
with open("a/b/x.txt", "w") as f:
    f.write("1")
shutil.copytree("a", "c")
shutil.make_archive("arch", "zip", "a")
shutil.move("c", "d")
result = sorted(os.listdir("."))
