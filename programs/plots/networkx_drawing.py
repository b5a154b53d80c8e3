# title: draws a graph
# packages: networkx matplotlib
# expect: ok
# check: "graph.png" in files
import matplotlib.pyplot as plt
import networkx as nx

g = nx.cycle_graph(5)
nx.draw(g, pos=nx.circular_layout(g), with_labels=True, node_color="lightblue")
plt.savefig("graph.png")
