# title: runs its own tests
# expect: ok
# check: result == [2, 0]
# agent: refuse
import unittest

class Sums(unittest.TestCase):
    def test_small(self):
        self.assertEqual(sum([1, 2]), 3)

    def test_empty(self):
        self.assertEqual(sum([]), 0)

suite = unittest.defaultTestLoader.loadTestsFromTestCase(Sums)
outcome = unittest.TextTestRunner().run(suite)
result = [outcome.testsRun, len(outcome.failures)]
