# title: takes an expression apart
# expect: ok
# check: result == [["a", "b"], [1, 2]]
# agent: refuse
import ast

names = sorted(n.id for n in ast.walk(ast.parse("a + b * 2")) if isinstance(n, ast.Name))
result = [names, ast.literal_eval("[1, 2]")]
