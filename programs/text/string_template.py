# title: formats of numbers and text
# expect: ok
# check: result == ["Hi Ann", "1,234.50", "  42", "0x2a", "25.0%"]
from string import Template

result = [Template("Hi $name").substitute(name="Ann"), f"{1234.5:,.2f}", f"{42:>4}", f"{42:#x}", f"{0.25:.1%}"]
