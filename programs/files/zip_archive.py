# title: packs and unpacks a ZIP archive
# expect: ok
# check: result == "hi" and "a.zip" in files
import zipfile

with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a.txt", "hi")
with zipfile.ZipFile("a.zip") as z:
    z.extractall("out")
result = open("out/a.txt").read()
