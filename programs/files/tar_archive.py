# title: a compressed archive in memory
# expect: ok
# check: result == {"a.txt": 5}
import io
import tarfile

buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
    info = tarfile.TarInfo("a.txt")
    info.size = 5
    tar.addfile(info, io.BytesIO(b"hello"))
buffer.seek(0)
with tarfile.open(fileobj=buffer) as tar:
    result = {member.name: member.size for member in tar}
