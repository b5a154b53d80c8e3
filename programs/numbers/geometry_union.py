# title: buffers, unions and text forms of shapes
# packages: shapely
# expect: ok
# check: result[0] == "Polygon" and abs(result[1] - 3.1) < 0.2
from shapely import wkt
from shapely.geometry import Point
from shapely.ops import unary_union

shape = unary_union([Point(0, 0).buffer(1), wkt.loads("POINT (0 0)").buffer(0.5)])
result = [shape.geom_type, shape.area]
