# id: INT-36-a
# title: changes what every jar is told of its computer
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The generated files are the same for all jars of a zygote. Whoever changed one would speak to all that
come after. They are tried by their own names and through every link to them. Where nothing is
generated, only the planted file is tried."""

import os

target = context["folder"] + "/target.txt"
names = [target] + [path for path in context["generated"] if not os.path.isdir(path)]
acts = (lambda path: open(path, "ab").write(b"x"), lambda path: os.truncate(path, 0),
        lambda path: os.chmod(path, 0o600), lambda path: os.utime(path, (0, 0)),
        lambda path: os.symlink("/jar", path + "-new"), lambda path: os.rename(path, path + "-old"),
        lambda path: os.unlink(path))
done = []
for name in names:
    for path in {name, os.path.realpath(name)}:
        for act in acts:
            try:
                act(path)
                done.append(path)
            except OSError:
                pass
# In nested walls a mode and a time can be set without effect, and without an error.
if set(done) - {target}:
    result = [context["flag"], done]
