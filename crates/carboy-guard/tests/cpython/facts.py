"""Says what CPython sees in a program: names, attributes, imports, keywords, texts.

Reads sources from standard input, each with its length in four bytes before it, and answers each
with a line of JSON: a sorted list of [kind, text], or null for what CPython does not take.
"""

import ast
import json
import sys
import warnings

warnings.simplefilter("ignore")


def clean(text):
    # Unpaired surrogates cannot be encoded; the parser in Rust replaces them too.
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def facts(tree):
    found = []
    nodes = [tree]

    def see(kind, text):
        if text is not None:
            found.append([kind, clean(text)])

    while nodes:
        node = nodes.pop()
        kind = type(node).__name__
        if kind in ("JoinedStr", "TemplateStr"):
            # The text between its fields is cut up differently from version to version.
            nodes.extend(part for part in node.values if type(part).__name__ != "Constant")
            continue
        if kind == "Name":
            see("Name", node.id)
        elif kind == "Attribute":
            see("Attribute", node.attr)
        elif kind == "Import":
            for alias in node.names:
                see("Module", alias.name)
                see("Binder", alias.asname)
        elif kind == "ImportFrom":
            see("Module", "." * node.level + (node.module or ""))
            for alias in node.names:
                see("Imported", alias.name)
                see("Binder", alias.asname)
        elif kind in (
            "FunctionDef",
            "AsyncFunctionDef",
            "ClassDef",
            "ExceptHandler",
            "MatchAs",
            "MatchStar",
        ):
            see("Binder", node.name)
        elif kind in ("TypeVar", "TypeVarTuple", "ParamSpec"):
            see("Binder", node.name)
        elif kind == "arg":
            see("Binder", node.arg)
        elif kind in ("Global", "Nonlocal"):
            for name in node.names:
                see("Binder", name)
        elif kind == "MatchMapping":
            see("Binder", node.rest)
        elif kind == "MatchClass":
            for name in node.kwd_attrs:
                see("Attribute", name)
        elif kind == "keyword":
            see("Keyword", node.arg)
        elif kind == "Constant" and isinstance(node.value, str):
            see("Text", node.value)
        nodes.extend(ast.iter_child_nodes(node))
    return sorted(found)


def main():
    source = sys.stdin.buffer
    while header := source.read(4):
        text = source.read(int.from_bytes(header, "big")).decode()
        try:
            # As a jar does it: parsed and compiled, from text.
            tree = ast.parse(text)
            compile(text, "job.py", "exec", dont_inherit=True)
            answer = facts(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            answer = None
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
