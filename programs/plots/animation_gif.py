# title: an animated picture
# packages: matplotlib numpy PIL
# expect: ok
# check: "wave.gif" in files
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

fig, ax = plt.subplots(figsize=(3, 2))
x = np.linspace(0, 6, 50)
(line,) = ax.plot(x, np.sin(x))

def update(frame):
    line.set_ydata(np.sin(x + frame))
    return (line,)

FuncAnimation(fig, update, frames=4).save("wave.gif", writer=PillowWriter(fps=4))
