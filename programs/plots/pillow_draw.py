# title: draws a picture with text
# packages: PIL
# expect: ok
# check: result == [200, 100] and "img.png" in files
from PIL import Image, ImageDraw, ImageFont

im = Image.new("RGB", (200, 100), "white")
draw = ImageDraw.Draw(im)
draw.rectangle([10, 10, 80, 80], fill="red")
draw.text((90, 40), "Hello", fill="black", font=ImageFont.load_default(20))
im.save("img.png")
result = list(im.size)
