# title: writes and parses XML
# expect: ok
# check: result == {"1": "x", "2": "y"}
import xml.etree.ElementTree as ET

root = ET.Element("r")
for key, text in (("1", "x"), ("2", "y")):
    ET.SubElement(root, "a", id=key).text = text
ET.ElementTree(root).write("r.xml")
result = {a.get("id"): a.text for a in ET.parse("r.xml").getroot().findall("a")}
