# title: removes noise from a signal
# packages: scipy numpy
# expect: ok
# check: result is True
import numpy as np
from scipy.signal import butter, filtfilt, find_peaks

t = np.linspace(0, 1, 500)
noisy = np.sin(2 * np.pi * 3 * t) + 0.3 * np.random.default_rng(0).normal(size=500)
b, a = butter(4, 0.05)
peaks, _ = find_peaks(filtfilt(b, a, noisy), distance=50)
result = len(peaks) in (3, 4)
