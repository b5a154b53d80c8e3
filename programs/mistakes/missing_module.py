# title: a package that is not installed
# expect: error ModuleNotFoundError
# says: not installed
import torch

result = torch.zeros(2).tolist()
