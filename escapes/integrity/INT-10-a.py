# id: INT-10-a
# title: gives its artifacts names that hurt whoever prints or stores them
# walls: full nested
# first: engine measure
# second: private root
# expect: ok
# control: bare
"""Names with line ends, control sequences, odd bytes and wrong directions, names that look like
options, like paths or like devices, and names that differ only in case."""

import os

names = [b"a\nb", b"a\rb", b"\x1b[2Jclear", b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"-rf",
         b"--help", b"CON", b"nul.txt", b"C:\\x", b"..\\..\\x", b"%2e%2e%2fx", b"A", b"a", b"a.",
         b"...", b". .", b"'; x", b'"', b"$(x)", b"`x`", b"|x", b"x;", b"\x7f", b"\t",
         b"\x01", b"a\x01.png", b"%00.png", b"\\0", "\u2400".encode(),
         "\u202egpj.exe".encode(), "\u200b".encode(), "\u2028".encode(), "\u00e9".encode(),
         "e\u0301".encode(), "\U000e0001".encode(), "\x85".encode(), b"n" * 255]
for root in (os.fsencode(context["folder"]), os.fsencode(os.getcwd())):
    made = 0
    for name in names:
        try:
            open(os.path.join(root, name), "xb").close()
            made += 1
            if root == os.fsencode(context["folder"]):
                break
        except OSError:
            pass
    if made:
        break
