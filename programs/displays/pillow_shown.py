# title: a picture that is only shown
# packages: PIL
# expect: ok
# outside: no
# check: displays[0].media_type == "image/png"
# check: pixels(displays[0]) == [(255, 0, 0)] * 12 + [(0, 0, 255)] * 12
from PIL import Image

picture = Image.new("RGB", (6, 4), "red")
picture.paste((0, 0, 255), (0, 2, 6, 4))
picture.show()
