# title: the most central member of a club
# packages: networkx scipy
# expect: ok
# check: result == 33
import networkx as nx

g = nx.karate_club_graph()
rank = nx.pagerank(g)
result = max(rank, key=rank.get)
