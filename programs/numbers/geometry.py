# title: whether a point is in a polygon
# packages: shapely
# expect: ok
# check: result == {"inside": True, "area": 8.0, "near": 1.0}
from shapely.geometry import Point, Polygon

triangle = Polygon([(0, 0), (4, 0), (4, 4)])
result = {
    "inside": triangle.contains(Point(2, 1)),
    "area": triangle.area,
    "near": triangle.distance(Point(5, 2)),
}
