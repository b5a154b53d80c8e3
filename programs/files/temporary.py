# title: temporary files and directories
# expect: ok
# check: result == ["hello", ["x"]]
import os
import tempfile

with tempfile.NamedTemporaryFile("w+", suffix=".txt") as f:
    f.write("hello")
    f.seek(0)
    text = f.read()
with tempfile.TemporaryDirectory() as d:
    with open(os.path.join(d, "x"), "w") as out:
        out.write("y")
    result = [text, os.listdir(d)]
