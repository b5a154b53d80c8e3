# id: AV-25-d
# title: reads a document whose entities grow when they are replaced
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""Each document stays below the amount from which the parser becomes suspicious, and its text is
kept."""

from xml.etree import ElementTree

entity = "x" * 60_000
document = f'<!DOCTYPE d [<!ENTITY e "{entity}">]><d>' + "&e;" * 100 + "</d>"
texts = [ElementTree.fromstring(document).text for _ in range(20)]
result = sum(map(len, texts))
