# title: the shortest path in a graph
# packages: networkx
# expect: ok
# check: result == {"path": ["a", "c", "b", "d"], "cost": 6}
import networkx as nx

g = nx.Graph()
g.add_weighted_edges_from([("a", "b", 5), ("a", "c", 2), ("c", "b", 1), ("b", "d", 3)])
result = {"path": nx.shortest_path(g, "a", "d", weight="weight"), "cost": nx.shortest_path_length(g, "a", "d", weight="weight")}
