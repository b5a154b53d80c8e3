"""The caller's tools, as code in a jar finds them: functions by name, and a module `tools`.

A call goes out as a frame and its answer comes back as one. Nobody waits for answers in the
background: whoever needs one reads what comes, hands the others theirs, and passes the reading on.
Code that awaits lets its event loop do it.
"""

import _thread
import collections
import os
import types

# How many calls may wait for an answer, and how many bytes of arguments with them. The engine takes no
# more either, and hears nothing else until some are answered.
IN_FLIGHT = 63
IN_FLIGHT_BYTES = 4 << 20


class ToolError(Exception):
    """A tool of the caller's did not answer with a value."""


class Calls:
    def __init__(self):
        self.made = 0
        self.in_flight = 0
        self.bytes = 0
        self.unsent = collections.deque()
        # What each call does with its answer.
        self.waiting = {}
        self.sizes = {}
        self.held = bytearray()
        self.counting = _thread.allocate_lock()
        self.reading = _thread.allocate_lock()
        # What wakes the threads that wait while another one reads.
        self.sleeping = {}
        self.loops = {}

    def begin(self, tool, arguments, answered):
        """Makes a call, now or when others are answered."""
        args, kwargs = arguments
        try:
            text = ENCODER.encode({"tool": tool, "args": args, "kwargs": kwargs})
            text.encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"{tool}: an argument is not JSON: {clean(error, 200)}") from None
        with self.counting:
            self.made += 1
            call = self.made
            self.waiting[call] = answered
            self.unsent.append((call, f'{{"call":{{"call":{call},{text[1:]}}}'.encode()))
        self.send()
        return call

    def send(self):
        """Sends the calls whose turn it is."""
        while True:
            with self.counting:
                if not self.unsent or self.in_flight >= IN_FLIGHT:
                    return
                call, body = self.unsent[0]
                if self.in_flight and self.bytes + len(body) >= IN_FLIGHT_BYTES:
                    return
                self.unsent.popleft()
                self.in_flight += 1
                self.bytes += len(body)
                self.sizes[call] = len(body)
            write_frame(body)

    def read(self):
        """Waits for answers, and hands them out."""
        while not self.hand_out():
            piece = os.read(JOB, 1 << 16)
            if not piece:
                os._exit(0)
            self.held += piece

    def hand_out(self):
        """Hands out the answers that have come whole. Whether there were any."""
        some = False
        while len(self.held) >= 4:
            end = 4 + int.from_bytes(self.held[:4], "big")
            if len(self.held) < end:
                break
            answer = DECODE(self.held[4:end].decode(), 0)[0]["answer"]
            del self.held[:end]
            some = True
            with self.counting:
                self.in_flight -= 1
                self.bytes -= self.sizes.pop(answer["call"])
                answered = self.waiting.pop(answer["call"])
            answered(answer)
            self.send()
        return some

    def wait(self, answers, woken):
        """Waits until there is something in `answers`: reads, or sleeps while another reads."""
        key = object()
        self.sleeping[key] = woken
        try:
            while not answers:
                if self.reading.acquire(False):
                    try:
                        while not answers:
                            self.read()
                    finally:
                        self.reading.release()
                else:
                    woken.acquire()
        finally:
            del self.sleeping[key]
            self.wake_all()

    def call(self, tool, arguments):
        answers, woken = [], _thread.allocate_lock()
        woken.acquire()

        def answered(answer):
            answers.append(answer)
            wake(woken)

        self.begin(tool, arguments, answered)
        self.wait(answers, woken)
        return value_of(answers[0])

    async def call_async(self, tool, arguments):
        loop = sys.modules["asyncio"].get_running_loop()
        future = loop.create_future()

        def answered(answer):
            try:
                loop.call_soon_threadsafe(lambda: future.done() or future.set_result(answer))
            except RuntimeError:
                # The loop is closed: nobody waits any more.
                pass

        self.loops[loop] = self.loops.get(loop, 0) + 1
        if self.loops[loop] == 1:
            loop.add_reader(JOB, self.readable)
        try:
            self.begin(tool, arguments, answered)
            return value_of(await future)
        finally:
            self.loops[loop] -= 1
            if not self.loops[loop]:
                del self.loops[loop]
                loop.remove_reader(JOB)

    def readable(self):
        """An event loop saw answers come. If a thread reads already, it will have them."""
        if self.reading.acquire(False):
            try:
                select = sys.modules["select"]
                if select.select([JOB], [], [], 0)[0]:
                    self.read()
            finally:
                self.reading.release()
                self.wake_all()

    def wake_all(self):
        """Nobody reads any more. One of those who sleep will."""
        for lock in list(self.sleeping.values()):
            wake(lock)


def wake(lock):
    try:
        lock.release()
    except RuntimeError:
        # It is awake.
        pass


def value_of(answer):
    error = answer.get("error")
    if error is None:
        return answer.get("result")
    raise (TypeError if error["kind"] == "arguments" else ToolError)(error["message"])


def tool_function(calls, tool):
    name = tool["name"]
    if tool["async"]:

        async def function(*args, **kwargs):
            return await calls.call_async(name, (args, kwargs))
    else:

        def function(*args, **kwargs):
            return calls.call(name, (args, kwargs))

    function.__name__ = function.__qualname__ = name
    function.__module__ = "tools"
    function.__doc__ = tool.get("doc")
    return function


def offer(tools, space):
    """Puts the tools where the code finds them."""
    calls = Calls()
    functions = {tool["name"]: tool_function(calls, tool) for tool in tools}
    module = types.ModuleType("tools", "What the caller of this code offers it.")
    module.__all__ = [*functions, "ToolError"]
    module.__dict__.update(functions, ToolError=ToolError)
    ToolError.__module__ = "tools"
    sys.modules["tools"] = module
    space.update(functions)


