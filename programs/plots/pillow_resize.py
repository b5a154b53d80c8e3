# title: thumbnails, filters and formats
# packages: PIL
# expect: ok
# check: result == ["JPEG", [64, 48]]
from PIL import Image, ImageFilter

im = Image.new("RGB", (640, 480), (30, 120, 200)).filter(ImageFilter.GaussianBlur(2))
im.thumbnail((64, 64))
im.convert("L").convert("RGB").save("small.jpg", quality=80)
again = Image.open("small.jpg")
result = [again.format, list(again.size)]
