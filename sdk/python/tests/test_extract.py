"""The code in a model's answer."""

import pytest

from carboy import extract


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # Python is left alone, whatever stands in its strings.
        ("result = 1\n", "result = 1\n"),
        ("await f()\n", "await f()\n"),
        ('text = """\n```python\nx\n```\n"""\n', 'text = """\n```python\nx\n```\n"""\n'),
        ("x = (5\n% 3)\n", "x = (5\n% 3)\n"),
        # Blocks: marked ones before those without a language, all of them, in their order.
        ("Here:\n```python\nresult = 1\n```\nDone.", "result = 1\n"),
        ("```\nresult = 1\n```", "result = 1\n"),
        ("```sh\npip install x\n```\n```py\nresult = 1\n```", "result = 1\n"),
        ("```\nan output\n```\n```python\nresult = 1\n```", "result = 1\n"),
        ("```python\na = 1\n```\nand\n~~~python\nb = 2\n~~~\n", "a = 1\n\nb = 2\n"),
        ("1. First:\n   ```python\n   if x:\n       y\n   ```", "if x:\n    y\n"),
        ('````python\ns = """\n```\n"""\n````', 's = """\n```\n"""\n'),
        ("```{.python}\nresult = 1\n```", "result = 1\n"),
        ("```Python title=x\nresult = 1\n```", "result = 1\n"),
        ("cut off:\n```python\nresult = 1\n", "result = 1\n"),
        # Lines of a notebook.
        ("!pip install numpy\nresult = 1\n", "pass  # !pip install numpy\nresult = 1\n"),
        ("if x:\n    %time f()\n", "if x:\n    pass  # %time f()\n"),
        ("%%timeit\nf()\n", "pass  # %%timeit\nf()\n"),
        ("len?\n", "pass  # len?\n"),
        ("```python\n!pip install x\nresult = 1\n```", "pass  # !pip install x\nresult = 1\n"),
        # What holds no code is returned for the interpreter to say so.
        ("Sorry, I cannot do that.", "Sorry, I cannot do that."),
        ("", ""),
        ("a\0b", "a\0b"),
    ],
)
def test_the_code_is_taken_out(text: str, code: str) -> None:
    assert extract(text) == code
