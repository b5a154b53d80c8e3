# title: a TrueType font by its file name
# packages: PIL matplotlib
# expect: ok
# check: result > 20
import os
import matplotlib
from PIL import Image, ImageDraw, ImageFont

path = os.path.join(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
font = ImageFont.truetype(path, 20)
im = Image.new("RGB", (200, 100))
ImageDraw.Draw(im).text((5, 5), "hi there", font=font)
result = round(font.getlength("hi there"))
