# title: a function in a thread of the event loop
# expect: ok
# check: result == 3
import asyncio

async def main():
    return await asyncio.to_thread(sum, [1, 2])

result = asyncio.run(main())
