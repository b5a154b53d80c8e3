"""The runtime half of the guard: what the text of a program cannot show.

It runs beside the code that it watches, in the same interpreter. It is advice that is given late,
and a second layer; the walls do not need it. The tables are those that the guard itself goes by.

Code under a profile finds its own builtins: those that the profile grants, with sentries for the ones
that take names or texts. Modules are handed out as faces, which are modules with the granted names
and nothing else, so that reading them costs what it always costs.
"""

import _string
import builtins
import collections
import functools
import operator
import re
import sys
import types

NAMES = {kind: frozenset(names) for kind, names in TABLES["names"].items()}
FINE = NAMES["plain"] | NAMES["methods"] | NAMES["underscored"]
FORBIDDEN_OBJECTS = frozenset(
    id(getattr(builtins, name))
    for name in "eval exec compile __import__ globals locals vars breakpoint memoryview "
    "getattr setattr delattr hasattr".split()
)
ERRORS = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
Module = types.ModuleType


class GuardError(BaseException):
    """Something that the language profile does not grant. `except Exception` does not catch it."""

    def __init__(self, rule, message, instead):
        super().__init__(f"{message} [{rule}]; write instead: {instead}")
        self.refusal = {"rule": rule, "message": message, "instead": instead}


class Guard:
    """What one profile grants, and the sentries that see to it."""

    # The one that this jar is under.
    used = None

    def __init__(self, profile):
        table = TABLES["profiles"][profile]
        self.profile = profile
        self.modules = table["modules"]
        self.imports = ()
        self.own = frozenset()
        self.faces = {}
        self.handed = {}
        granted = {name: getattr(builtins, name) for name in table["builtins"] if hasattr(builtins, name)}
        self.builtins = {
            **ERRORS,
            **granted,
            **sentries(self),
            "__build_class__": builtins.__build_class__,
            "__name__": "builtins",
        }
        self.forbidden = FORBIDDEN_OBJECTS if "open" in granted else FORBIDDEN_OBJECTS | {id(open)}

    def check_name(self, name, value=None):
        """Refuses the name of an attribute that the profile does not grant."""
        if type(name) is not str and isinstance(name, str):
            raise GuardError("dunder-attribute", "the name is no plain text", "use str(name)")
        if type(name) is not str:
            raise TypeError("attribute name must be string, not " + type(name).__name__)
        if name in NAMES["interpreter"]:
            raise GuardError(
                "interpreter-attribute",
                f"{name!r} leads into the interpreter",
                "keep what you need in variables of your own",
            )
        if name[:1] != "_" or name in FINE or name in self.own:
            return
        if name[:2] == "__" and name[-2:] == "__":
            rule, why = "dunder-attribute", "reaches past the object"
        else:
            if type(value).__module__ == "__main__":
                return
            rule, why = "private-attribute", "is private, and nothing here defines it"
        raise GuardError(rule, f"{name!r} {why}", "use public attributes, operators and builtins")

    def check_change(self, name, value):
        """The same where it is to be changed, which the names of modules are not."""
        self.check_name(name, value)
        if id(value) in self.handed:
            self.refuse_name(self.handed[id(value)][1], name)

    def granted(self, path):
        """What is handed out of a module: True, a table, or None."""
        if path == "__future__":
            return True
        for granted in self.imports:
            if path == granted or path.startswith(granted + "."):
                return True
        grant = self.modules.get(path)
        if grant is not None:
            return grant or None
        package = path
        while "." in package:
            package = package.rpartition(".")[0]
            if self.modules.get(package) is False:
                return None
            if package + ".**" in self.modules:
                rest = path[len(package) + 1 :].split(".")
                return None if any(part[:1] in ("_", "") for part in rest) else True
            if package in self.modules:
                return None
        return None

    def reaches(self, path):
        """Whether a module may be reached: for what it hands out, or for what lies below it."""
        return self.granted(path) is not None or self.is_container(path)

    def is_container(self, path):
        below = path + "."
        return any(name.startswith(below) and grant for name, grant in self.modules.items()) or any(
            name.startswith(below) for name in self.imports
        )

    def hands_out(self, path, grant, name):
        if name[:1] == "_":
            return name in ("__name__", "__doc__", "__version__")
        if self.modules.get(f"{path}.{name}") is False:
            return False
        if type(grant) is dict:
            return name in grant["only"] if "only" in grant else name not in grant["without"]
        return grant is True

    def face(self, real, path):
        """The face of a module that may be reached: its granted names and nothing else."""
        face = self.faces.get(path)
        if face is not None:
            return face
        grant = self.granted(path)
        face = Module(real.__name__, real.__doc__)
        self.faces[path] = face
        self.handed[id(face)] = (real, path)
        space = face.__dict__
        # As the module itself would: what it does not have yet, it gets when it is asked for it.
        is_late = (
            path in LATE
            or path in self.imports
            or path + ".**" in self.modules
            or "__getattr__" in real.__dict__
        )
        for name, value in list(real.__dict__.items()):
            if not self.hands_out(path, grant, name) or id(value) in self.forbidden:
                continue
            if name in LATE.get(path, ()):
                continue
            if isinstance(value, Module):
                value = None if is_late else self.module_face(value, path, name)
                if value is None:
                    continue
            space[name] = self.checked(value)
        if is_late:
            space["__getattr__"] = lambda name: self.late(real, path, grant, space, name)
        return face

    def module_face(self, value, path, name):
        """The face of a module that stands in another, under the name that is granted, if any is."""
        own = value.__name__
        if self.modules.get(f"{path}.{name}"):
            # `os.path`, which has another name for itself.
            own = f"{path}.{name}"
        return self.face(value, own) if self.reaches(own) else None

    def checked(self, value):
        """A value as it is handed out: a sentry for what takes names or texts."""
        replaced = REPLACED.get(id(value))
        return replaced(self, value) if replaced else value

    def late(self, real, path, grant, space, name):
        if name[:2] == "__":
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        self.handed_out(path, grant, name)
        value = getattr(real, name, MISSING)
        if value is MISSING:
            # Without the object that the module's own error would carry.
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        value = self.part(value, path, name)
        if name not in LATE.get(path, ()):
            space[name] = value
        return value

    def part(self, value, path, name):
        """What a module hands out under a name that it grants."""
        if isinstance(value, Module):
            value = self.module_face(value, path, name)
            if value is None:
                self.refuse_name(path, name)
        elif id(value) in self.forbidden:
            self.refuse_name(path, name)
        return self.checked(value)

    def handed_out(self, path, grant, name):
        public = name[:1] != "_"
        if not (self.hands_out(path, grant, name) or public and self.reaches(f"{path}.{name}")):
            self.refuse_name(path, name)

    def wanted(self, real, face, path, name):
        """Puts into a face what `from path import name` asks for."""
        self.handed_out(path, self.granted(path), name)
        below = f"{path}.{name}"
        if not hasattr(real, name) and self.reaches(below):
            __import__(below)
        if not hasattr(real, name):
            raise ImportError(f"cannot import name {name!r} from {path!r}")
        face.__dict__[name] = self.part(getattr(real, name), path, name)

    def refuse_name(self, path, name):
        raise not_handed_out(path, name)

    def give(self, value):
        """A value that was reached by a computed name: modules go out as their faces only."""
        if not isinstance(value, Module) or id(value) in self.handed:
            return value
        path = value.__name__
        if not self.reaches(path):
            self.refuse_import(path)
        return self.face(value, path)

    def refuse_import(self, path):
        raise GuardError(
            "import-not-granted",
            f"the module {path!r} is not granted by the profile {self.profile}",
            "use what is granted, such as math, json, re, collections",
        )


def not_handed_out(path, name):
    return GuardError(
        "name-not-granted", f"{name!r} is not handed out of {path!r}", "use the module's other names"
    )


def attrgetter(guard, real):
    def attrgetter(*names):
        for name in names:
            for part in name.split(".") if type(name) is str else (name,):
                guard.check_name(part)
                if part in NAMES["texts"]:
                    raise GuardError("format-traversal", f"{part!r} by a getter", "call the method")
        return real(*names)

    return attrgetter


def methodcaller(guard, real):
    def methodcaller(name, /, *args, **kwargs):
        guard.check_name(name)
        if name in NAMES["texts"]:
            return lambda value: TEXTS[name](guard, value)(*args, **kwargs)
        return real(name, *args, **kwargs)

    return methodcaller


def update_wrapper(guard, real):
    def update_wrapper(
        wrapper, wrapped, assigned=functools.WRAPPER_ASSIGNMENTS, updated=functools.WRAPPER_UPDATES
    ):
        # Taken once: what is checked is what is used.
        assigned, updated = tuple(assigned), tuple(updated)
        usual = {*functools.WRAPPER_ASSIGNMENTS, *functools.WRAPPER_UPDATES}
        if not all(type(name) is str and name in usual for name in (*assigned, *updated)):
            raise GuardError(
                "dunder-attribute", "a wrapper takes over its usual attributes only", "functools.wraps(f)"
            )
        return functools.update_wrapper(wrapper, wrapped, assigned, updated)

    return update_wrapper


def wraps(guard, real):
    checked = update_wrapper(guard, real)

    def wraps(
        wrapped, assigned=functools.WRAPPER_ASSIGNMENTS, updated=functools.WRAPPER_UPDATES
    ):
        return lambda wrapper: checked(wrapper, wrapped, assigned, updated)

    return wraps


def singledispatch(guard, real):
    def singledispatch(function):
        made = real(function)
        plain = made.register

        def register(kind, function=None):
            # Without a class it reads the annotations, and texts among them as code.
            for text in getattr(kind, "__annotations__", {}).values():
                if isinstance(text, str):
                    check_text(text)
            return plain(kind, function)

        made.register = register
        return made

    return singledispatch


# What is handed out in place of something else, wherever that is found.
REPLACED = {
    id(operator.attrgetter): attrgetter,
    id(operator.methodcaller): methodcaller,
    id(functools.update_wrapper): update_wrapper,
    id(functools.wraps): wraps,
    id(functools.singledispatch): singledispatch,
}
# What is not the same from one moment to the next.
LATE = {"sys": ("stdin", "stdout", "stderr")}
WORDS = re.compile(r"(\.[\s\\]*)?(\w+)")
# What Python reads as an underscore.
UNDERSCORES = re.compile("[\uff3f\ufe33\ufe34\ufe4d-\ufe4f]")


def check_text(text):
    """Refuses a text that is read as code and reaches past values."""
    text = str.__str__(text)
    if UNDERSCORES.search(text) or any(reaches_out(*found) for found in WORDS.findall(text)):
        raise GuardError(
            "text-code",
            "the text is read as code, and reaches past values",
            "use names and public attributes in it, or write the code out",
        )


def reaches_out(dot, word):
    """Whether a word is a name of the interpreter's own, or an attribute that is not for everybody."""
    dunder = len(word) > 3 and word[:2] == "__" == word[-2:]
    hidden = word[0] == "_" or not word.isascii() or word in NAMES["interpreter"]
    return dunder or dot and hidden


def check_format(guard, text, depth=2):
    """Refuses a format text whose fields reach attributes that are not granted."""
    for _, field, spec, _ in _string.formatter_parser(text):
        if field is None:
            continue
        for is_attribute, name in _string.formatter_field_name_split(field)[1]:
            if is_attribute and (name[:1] == "_" and name not in guard.own or name in NAMES["interpreter"]):
                raise GuardError(
                    "format-traversal",
                    f"the format text reaches {name!r}",
                    "format the value itself: '{}'.format(x.name)",
                )
        if spec and depth:
            check_format(guard, spec, depth - 1)


def formatting(name):
    """The sentry for `.format` or `.format_map` of something."""
    plain, wrapped = getattr(str, name), getattr(collections.UserString, name)

    def sentry(guard, value):
        if type(value) is super:
            # Its own method may be another's; the text is that of the object.
            value = value.__self__
            if isinstance(value, str):
                value = str.__str__(value)
            elif isinstance(value, collections.UserString):
                value = collections.UserString(value.data)
            elif isinstance(value, type):
                value = str if issubclass(value, str) else collections.UserString
        # A class that has a method of its own under this name reads no format text.
        method = getattr(type(value), name, None)
        if isinstance(value, str) and method is plain:
            text = str.__str__(value)
        elif isinstance(value, collections.UserString) and method is wrapped:
            text = value.data
        elif isinstance(value, type) and getattr(value, name, None) in (plain, wrapped):
            # Unbound: the text comes first.
            return lambda text, *args, **kwargs: sentry(guard, text)(*args, **kwargs)
        else:
            return guard.give(getattr(value, name))

        def checked(*args, **kwargs):
            if type(text) is not str:
                raise TypeError("a format text must be a str")
            check_format(guard, text)
            return plain(text, *args, **kwargs)

        return checked

    return sentry


def plain_text(value):
    """The value, checked and plain if it is a text."""
    if not isinstance(value, str):
        return value
    value = str.__str__(value)
    check_text(value)
    return value


def querying(name):
    """The sentry for `.query` or `.eval` of something: pandas reads the text as code."""

    def sentry(guard, value):
        method = guard.give(getattr(value, name))
        if not callable(method):
            return method
        pandas = sys.modules.get("pandas")
        owner = value if isinstance(value, type) else type(value)
        reads_frames = pandas and issubclass(owner, pandas.DataFrame)

        def checked(*args, **kwargs):
            # What is checked is what is used: a text of a class of its own may change.
            args = [plain_text(value) for value in args]
            kwargs = {name: plain_text(value) for name, value in kwargs.items()}
            if reads_frames:
                if "level" in kwargs:
                    raise GuardError(
                        "text-code",
                        "the query looks for variables elsewhere than where it is called",
                        "write the variables into the query with @, without `level`",
                    )
                # It looks in the frame that called it, which is one further away.
                kwargs["level"] = 1
            return method(*args, **kwargs)

        return checked

    return sentry


TEXTS = {
    "format": formatting("format"),
    "format_map": formatting("format_map"),
    "query": querying("query"),
    "eval": querying("eval"),
}
MISSING = object()


def sentries(guard):
    """The builtins that stand in for those that take names."""

    def getattr_(value, name, default=MISSING, /):
        guard.check_name(name, value)
        if name in NAMES["texts"]:
            if default is not MISSING and not hasattr(value, name):
                return default
            return TEXTS[name](guard, value)
        if default is MISSING:
            return guard.give(getattr(value, name))
        return guard.give(getattr(value, name, default))

    def hasattr_(value, name, /):
        guard.check_name(name, value)
        return hasattr(value, name)

    def setattr_(value, name, new, /):
        guard.check_change(name, value)
        setattr(value, name, new)

    def delattr_(value, name, /):
        guard.check_change(name, value)
        delattr(value, name)

    def import_(name, space=None, local=None, fromlist=(), level=0):
        if type(fromlist) is list:
            # Not a statement, which has a tuple: a library in C imports what it needs.
            return __import__(name, space, local, fromlist, level)
        if type(name) is not str or level:
            raise GuardError("relative-import", "a program is no package", "import by the whole name")
        if not guard.reaches(name):
            guard.refuse_import(name)
        real = __import__(name, None, None, ("__name__",))
        face = guard.face(real, name)
        for wanted in fromlist or ():
            if wanted not in face.__dict__:
                guard.wanted(real, face, name, wanted)
        if fromlist:
            return face
        # `import a.b.c` binds `a`, and finds the others below it.
        while "." in name:
            name, _, last = name.rpartition(".")
            above = guard.face(__import__(name, None, None, ("__name__",)), name)
            above.__dict__[last] = face
            face = above
        return face

    made = {
        "getattr": getattr_,
        "hasattr": hasattr_,
        "setattr": setattr_,
        "delattr": delattr_,
        "__import__": import_,
    }
    for name, sentry in made.items():
        sentry.__name__ = sentry.__qualname__ = name
    for name, sentry in TEXTS.items():
        made[f"__carboy_{name}__"] = lambda value, sentry=sentry: sentry(guard, value)
    return made


def named_by_guard(error):
    """The refusal behind an error that the interpreter raised itself, because a name is not there."""
    guard = Guard.used
    if guard is None or type(getattr(error, "name", None)) is not str:
        return None
    if type(error) is AttributeError and id(error.obj) in guard.handed:
        real, path = guard.handed[id(error.obj)]
        if hasattr(real, error.name):
            return not_handed_out(path, error.name)
    if type(error) is NameError and error.name not in guard.builtins and hasattr(builtins, error.name):
        return GuardError(
            "blocked-builtin", f"the builtin {error.name!r} is not granted", "write it out, or leave it out"
        )
    return None


GUARDS = {profile: Guard(profile) for profile in TABLES["profiles"]}


def guarded(frame):
    """The guard of a job: its profile with what the job adds."""
    guard = GUARDS[frame["profile"]]
    guard.imports = tuple(frame.get("imports", ()))
    guard.own = frozenset(frame.get("own", ()))
    Guard.used = guard
    return guard
