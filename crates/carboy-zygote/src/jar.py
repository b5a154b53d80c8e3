"""The Python half of a zygote: import what was asked for, be forked, run one job.

Executed with three names: `lib`, the Rust half; `preload`, the modules to import; `environment`,
what jars find in theirs. Everything below `lib.carboy_serve` runs in a jar, beside guest code
that may do what it likes to this module: nothing here is a wall, and the engine believes none of
it.

After a fork each page that is touched is a page fault, and those are most of what a short run
costs. So what a jar does before and after its code is little, and modules that no jar needs
(`threading` has much to do after a fork) are not imported.
"""

import _thread
import ast
import atexit
import dis
import gc
import importlib
import json
import linecache
import os
import sys
import traceback
import types

# Held here: a guest may replace what it finds in the builtins.
abs, isinstance, len, memoryview, str, type = abs, isinstance, len, memoryview, str, type

JOB, FRAMES = 3, 4
# The zygote's socket to the engine. The number is another thing in a jar.
CONTROL = 3
NAME = "job.py"
MAX_TEXT = 4_000
MAX_TRACEBACK = 16_000
LAST_RESORT = b'{"failed":{"type":"MemoryError","message":""}}'
# How code ends that assigns to a name last: with an implicit `return None`.
STORE_NAME = bytes([dis.opmap["STORE_NAME"]])
LOAD_AND_RETURN = bytes([dis.opmap["LOAD_CONST"], dis.opmap["RETURN_VALUE"]])
RETURN_CONST = bytes([dis.opmap.get("RETURN_CONST", 0)])
WRITING = _thread.allocate_lock()
# The code may await outside of functions.
FLAGS, COROUTINE = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, 0x80
EXIT_FUNCTIONS = 0
CODE = ""
WARM_JOB = json.dumps(
    {
        "code": "warm = {'n': [n * n for n in range(8)]}\nresult = sum(warm['n'])",
        "inputs": {"context": {"n": 1}},
    }
)
# What stands for a value that nests deeper than can be written.
TOO_DEEP = b"[" * 500 + b"]" * 500
DECODE = json.JSONDecoder().scan_once


class NotAwaited(TypeError):
    """A result has a coroutine in it."""


def refuse(value):
    """What the encoder calls for a value that JSON has no form for."""
    kind = NotAwaited if isinstance(value, types.CoroutineType) else TypeError
    raise kind(f"Object of type {type(value).__name__} is not JSON serializable")


ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=refuse
)
# The same in C, as `ENCODER` would make it for each value, where the interpreter has it.
ENCODE = json.encoder.c_make_encoder and json.encoder.c_make_encoder(
    {}, ENCODER.default, json.encoder.encode_basestring, None, ":", ",", False, False, False
)


def read_frame():
    data = os.read(JOB, 1 << 16)
    # The engine writes one frame and waits, so nearly always that was all of it.
    if len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        data = read_rest(data)
    return DECODE(data[4:].decode(), 0)[0]


def read_rest(data):
    pieces, count, wanted = [data], len(data), 4
    while True:
        if wanted == 4 and count >= 4:
            wanted += int.from_bytes(b"".join(pieces)[:4], "big")
        if wanted > 4 and count >= wanted:
            return b"".join(pieces)
        piece = os.read(JOB, 1 << 20)
        if not piece:
            os._exit(0)
        pieces.append(piece)
        count += len(piece)


def write_frame(body):
    with WRITING:
        write_whole(body)


def write_last_frame(body):
    """Threads of the code may still call tools. What they write now would come after the end."""
    WRITING.acquire()
    write_whole(body)


def write_whole(body):
    frame = len(body).to_bytes(4, "big") + body
    done = os.write(FRAMES, frame)
    if done < len(frame):
        rest = memoryview(frame)[done:]
        while rest:
            rest = rest[os.write(FRAMES, rest) :]


def shortened(text, most):
    if len(text) <= most:
        return text
    return text[: most // 2] + "\n... cut ...\n" + text[-most // 2 :]


def clean(text, most):
    """A text that any JSON reader takes, whatever half characters the guest put into it."""
    try:
        text = str(text)
    except Exception:
        text = "(its text cannot be had)"
    return shortened(text, most).encode("utf-8", "backslashreplace").decode("utf-8")


def encode(message):
    return json.dumps(message).encode()


def bad_result(fault, detail):
    return encode({"bad_result": {"fault": fault, "detail": clean(detail, 200)}})


def encode_result(value):
    """The frame for a result. How long and how deep it may be is for the engine to judge."""
    if value is None:
        return b'{"done":{}}'
    try:
        text = "".join(ENCODE(value, 0)) if ENCODE else ENCODER.encode(value)
        data = text.encode("utf-8")
    except RecursionError:
        data = TOO_DEEP
    except UnicodeEncodeError:
        return bad_result("not_text", "a string contains an unpaired surrogate")
    except ValueError as error:
        if "float" in str(error):
            return bad_result("not_finite", error)
        if "ircular" not in str(error):
            return bad_result("not_json", error)
        data = TOO_DEEP
    except TypeError as error:
        return bad_result("not_awaited" if type(error) is NotAwaited else "not_json", error)
    return b'{"done":{"result":' + data + b"}}"


def exit_code(error):
    """What an interpreter would exit with: eight bits of a number, 1 for anything else."""
    return error.code & 0xFF if isinstance(error.code, int) else 1


def encode_failure(error):
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
        trace = trace.tb_next
    line = None
    step = last = trace
    while step is not None:
        if step.tb_frame.f_code.co_filename == NAME:
            line, last = step.tb_lineno, step
        step = step.tb_next
    error = named_by_guard(error) or error
    refusal = error.refusal if type(error) is GuardError else None
    if refusal and last:
        # What the guard did to find out is of no interest.
        last.tb_next = None
    if isinstance(error, SyntaxError) and error.filename == NAME:
        line = error.lineno
    if isinstance(error, MemoryError):
        traceback.clear_frames(error.__traceback__)
    errno = error.errno if isinstance(error, OSError) else None
    text = "".join(traceback.format_exception(type(error), error, trace))
    failure = {
        "type": clean(type(error).__name__, 200),
        "message": clean(error, MAX_TEXT),
        "traceback": clean(text, MAX_TRACEBACK),
        "line": line if type(line) is int and 0 < line < 1 << 31 else None,
        "exit": exit_code(error) if isinstance(error, SystemExit) else None,
        "refusal": refusal and {part: clean(text, MAX_TEXT) for part, text in refusal.items()},
        "errno": errno if type(errno) is int and abs(errno) < 1 << 31 else None,
    }
    return encode({"failed": failure})


def ends_in_result(compiled):
    """Whether the last thing that the code does is to assign to `result`.

    Then its last statement is no expression, and there is no need to take it apart.
    """
    tail = compiled.co_code[-6:]
    at = tail.rfind(STORE_NAME, 0, -2)
    ends = tail[at + 2 :: 2] in (LOAD_AND_RETURN, RETURN_CONST)
    return at in (0, 2) and ends and compiled.co_names[tail[at + 1]] == "result"


def execute(code, space):
    """Runs the code and returns the value of its last expression, if it ends in one."""
    compiled = compile(code, NAME, "exec", FLAGS, dont_inherit=True)
    if ends_in_result(compiled) and not compiled.co_flags & COROUTINE:
        exec(compiled, space)
        if "result" in space:
            return None
        # An expression behind it that is a constant leaves no trace in the code.
        last = compile(code, NAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True).body[-1]
        constant = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
        return last.value.value if constant else None
    tree = compile(code, NAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is None:
        return evaluate([compiled], space)
    tail = compile(ast.Expression(last.value), NAME, "eval", FLAGS, dont_inherit=True)
    return evaluate([compile(tree, NAME, "exec", FLAGS, dont_inherit=True), tail], space)


def evaluate(parts, space):
    """Runs code that was compiled in parts, and returns the value of the last one."""
    if any(part.co_flags & COROUTINE for part in parts):
        return importlib.import_module("asyncio").run(awaited(parts, space))
    for part in parts:
        value = eval(part, space)
    return value


async def awaited(parts, space):
    for part in parts:
        value = eval(part, space)
        if part.co_flags & COROUTINE:
            value = await value
    return value


def finish():
    """What an interpreter does at its end: wait for threads, run exit functions, flush."""
    threading = sys.modules.get("threading")
    if threading and threading.active_count() > 1:
        threading._shutdown()
    # What stands there from the start belongs to modules that have nothing to end, but for logging.
    if atexit._ncallbacks() != EXIT_FUNCTIONS or "logging" in sys.modules:
        atexit._run_exitfuncs()
    flush()


def flush():
    for stream in (sys.stdout, sys.stderr):
        # The code may have closed or replaced them.
        try:
            stream.flush()
        except (AttributeError, ValueError, OSError):
            pass


def new_main():
    """An empty `__main__`, with what can be done before the code is there."""
    module = types.ModuleType("__main__")
    module.__file__ = NAME
    sys.modules["__main__"] = module
    # Asked for its lines only if somebody wants to see them.
    linecache.cache[NAME] = (lambda: CODE,)
    return module.__dict__


def run_job(job, space, finish):
    global CODE
    CODE = code = job["code"]
    space["context"] = None
    if "inputs" in job:
        space.update(job["inputs"])
    if "tools" in job:
        offer(job["tools"], space)
    if "guard" in job:
        space["__builtins__"] = guarded(job["guard"]).builtins
        code = job["guard"].get("code", code)
    try:
        value = execute(code, space)
        finish()
        value = space.get("result", value)
    except SystemExit as error:
        if error.code not in (None, 0):
            return encode_failure(error)
        finish()
        value = space.get("result")
    return encode_result(value)


def diverge():
    """What a fork must not share with its siblings. `random` sees to itself."""
    loaded = sys.modules
    if "tempfile" in loaded:
        loaded["tempfile"].tempdir = None
    if "numpy.random" in loaded:
        loaded["numpy.random"].seed()
    if "ssl" in loaded:
        # OpenSSL tells forks apart by process id, and every jar is number 1.
        loaded["ssl"].RAND_add(os.urandom(32), 32.0)


def warm():
    """A job of no importance: whatever a first job would touch is touched."""
    for text in (WARM_JOB, WARM_JOB):
        run_job(DECODE(text, 0)[0], new_main(), flush)


def main():
    diverge()
    own = os.getpid()
    space = new_main()
    message = read_frame()
    while "warm" in message:
        warm()
        write_frame(b'{"ready":{}}')
        space = new_main()
        message = read_frame()
    job = message["job"]
    try:
        if "environment" in job:
            os.environ.update(job["environment"])
        body = run_job(job, space, finish)
    except BaseException as error:
        # Kept: what the code held when it failed is a fact that the engine may look at.
        failure = error
        try:
            body = encode_failure(failure)
            finish()
        except MemoryError:
            body = LAST_RESORT
        except BaseException as second:
            name = clean(type(second).__name__, 200)
            body = encode({"failed": {"type": name, "message": "while reporting an error"}})
    if os.getpid() != own:
        # A child that the code forked has come to the end of the code. It has no answer to give.
        os._exit(0)
    write_last_frame(body)
    # The engine ends the jar. Until then nothing more is to be done.
    while os.read(JOB, 1):
        pass
    os._exit(0)


def prepare():
    # Only the loader needed them, and that has done its work.
    os.environ.pop("LD_ORIGIN_PATH", None)
    os.environ.pop("LD_BIND_NOW", None)
    for name in preload:
        try:
            importlib.import_module(name)
        except BaseException as error:
            text = clean(f"{type(error).__name__}: {clean(error, MAX_TEXT)}", MAX_TEXT)
            os.write(CONTROL, encode({"not_preloaded": {"module": name, "error": text}}))
            os._exit(1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    os.environ.update(environment)
    sys.argv = [NAME]
    global EXIT_FUNCTIONS
    EXIT_FUNCTIONS = atexit._ncallbacks()
    # Compiling once here spares every fork the page faults of its first compile.
    warm()
    # What reporting an error imports is imported before code has taken every descriptor.
    try:
        raise ValueError
    except ValueError as error:
        encode_failure(error)
    gc.collect()
    gc.freeze()


prepare()
lib.carboy_serve(*sys.version_info[:3])
main()
