# title: a fence with an install line
# packages: numpy
# extract: yes
# expect: ok
# check: result == 6
```python
!pip install numpy
%matplotlib inline
import numpy as np
result = int(np.array([1, 2, 3]).sum())
```
