# title: prices by XPath
# packages: lxml
# expect: ok
# check: result == [3.5, 4.0]
from lxml import etree

root = etree.fromstring("<shop><item price='3.5'/><item price='4'/></shop>")
result = [float(p) for p in root.xpath("//item/@price")]
