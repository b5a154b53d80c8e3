# title: finds the frequency of a signal
# packages: numpy
# expect: ok
# check: result == 5.0
import numpy as np

t = np.arange(0, 1, 0.01)
signal = np.sin(2 * np.pi * 5 * t)
spectrum = np.abs(np.fft.rfft(signal))
result = float(np.fft.rfftfreq(t.size, 0.01)[spectrum.argmax()])
