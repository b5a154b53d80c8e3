# title: await outside of a function, as in a notebook
# expect: ok
# outside: no
# check: result == [1, 2]
import asyncio

async def f(i):
    await asyncio.sleep(0.01)
    return i

result = await asyncio.gather(f(1), f(2))
