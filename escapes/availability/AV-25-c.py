# id: AV-25-c
# title: extracts an archive that is larger than its disk
# walls: full nested
# first: memory file system
# second: rlimits
# expect: limit file_bytes
# limits: file_bytes=1048576
# control: raised file_bytes=33554432
"""The archive itself fits well; what it holds does not."""

import io
import time
import zipfile

archive = io.BytesIO()
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
    for number in range(8):
        packed.writestr(f"deep/er/{number}", bytes(800_000))
with zipfile.ZipFile(archive) as packed:
    packed.extractall()
time.sleep(context["hold"])
result = len(archive.getvalue())
