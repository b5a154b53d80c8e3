# id: CON-26
# title: collects the text of every error it can raise
# walls: full nested
# first: frames
# second: none
# expect: exception
# control: none: on the bare host there is no engine whose words could tell anything
"""Messages and tracebacks could carry paths of the engine's source, directories of the host, the
canary or the numbers of its users. The last error is left to the engine to report."""

import codecs
import ctypes
import importlib
import json
import os
import re
import socket
import sys
import traceback

ways = [
    lambda: importlib.import_module("no_such_module"), lambda: open(context["secret_file"]),
    lambda: compile("def", context["secret_file"], "exec"), lambda: bytearray(1 << 40),
    lambda: b"\xff".decode(), lambda: json.loads("{"), lambda: socket.socket(),
    lambda: os.execv(os.path.join(context["folder"], "run.sh"), ["x"]), lambda: os.fork(),
    lambda: ctypes.CDLL(context["secret_file"]), lambda: codecs.lookup("none"),
    lambda: os.listdir("/"), lambda: os.kill(context["pid"], 9), lambda: sys.stdin.read(),
    lambda: os.listdir(context["folder"]), lambda: (lambda f: f(f))(lambda f: f(f)),
]
texts = []
for way in ways:
    try:
        way()
    except BaseException:
        texts.append(traceback.format_exc())
frame = sys._getframe()
while frame:
    texts.append(frame.f_code.co_filename)
    frame = frame.f_back
told = re.findall(r"\S*(?:\.rs\b|jar\.py|crates/|libcarboy)\S*", "\n".join(texts))
print(*texts, sep="\n")
if told:
    print(context["flag"], told)
raise RuntimeError(texts[0])
