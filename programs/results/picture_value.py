# title: a picture as the result
# packages: PIL
# expect: ok
from PIL import Image

result = Image.new("RGB", (4, 4), "red")
