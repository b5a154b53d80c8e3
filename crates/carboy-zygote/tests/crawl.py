"""Walks from every granted module through public attributes, as guarded code could without a word
that the guard would refuse, and names each way to a module that is no face, or to what runs code.

Executed in an interpreter of its own, where the Python half can be imported.
"""

import builtins
import json
import sys
from types import ModuleType

from carboy_jar.guard import GUARDS
from carboy_jar.refusal import NAMES

DEPTH = 4
MOST = 150_000


def crawl(profile):
    guard = GUARDS[profile]
    found = []
    targets = {id(value): name for name, value in vars(builtins).items() if name in BLOCKED}
    targets[id(sys.modules)] = "sys.modules"
    seen, level, count, missing = set(), [], 0, []
    for path in guard.modules:
        if path.endswith(".**") or not guard.modules[path]:
            continue
        try:
            level.append((path, guard.builtins["__import__"](path, None, None, ("__name__",), 0)))
        except ImportError:
            missing.append(path)
    for _depth in range(DEPTH):
        deeper = []
        for way, value in level:
            for name in names_of(guard, value):
                try:
                    part = getattr(value, name)
                except BaseException:
                    continue
                if id(part) in seen:
                    continue
                count += 1
                there = f"{way}.{name}"
                if id(part) in targets:
                    found.append(f"{there} is {targets[id(part)]}")
                elif isinstance(part, ModuleType) and id(part) not in guard.handed:
                    found.append(f"{there} is the module {part.__name__}")
                else:
                    # Kept, so that no other object gets its place.
                    seen.add(id(part))
                    deeper.append((there, part))
                if count > MOST:
                    return found, count, missing
        level = deeper
    return found, count, missing


BLOCKED = {"eval", "exec", "compile", "__import__", "globals", "locals", "vars", "breakpoint"}


def names_of(guard, value):
    try:
        # A face has more than it says: what its module gets late, it gets too.
        names = dir(guard.handed[id(value)][0] if id(value) in guard.handed else value)
    except BaseException:
        return []
    return [
        name
        for name in names
        if name[:1] != "_" and name not in NAMES["interpreter"] | NAMES["texts"]
    ]


answer = {}
for profile in GUARDS:
    found, count, missing = crawl(profile)
    answer[profile] = {"found": sorted(set(found)), "objects": count, "missing": missing}
    # The control: a way out that is really there must be found.
    GUARDS[profile].faces["math"].__dict__["tools"] = [sys][0]
    GUARDS[profile].handed[id(GUARDS[profile].faces["math"])][0].__dict__["tools"] = sys
    answer[profile]["control"] = crawl(profile)[0]
    del GUARDS[profile].handed[id(GUARDS[profile].faces["math"])][0].__dict__["tools"]
print(json.dumps(answer))
