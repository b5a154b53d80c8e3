# title: a queue, a semaphore and a timeout
# expect: ok
# check: result == [[0, 1, 2], "timed out"]
import asyncio

async def main():
    q = asyncio.Queue()
    gate = asyncio.Semaphore(2)
    async def put(i):
        async with gate:
            await q.put(i)
    await asyncio.gather(*(put(i) for i in range(3)))
    got = sorted([await q.get() for _ in range(3)])
    try:
        await asyncio.wait_for(q.get(), 0.05)
    except asyncio.TimeoutError:
        return [got, "timed out"]

result = asyncio.run(main())
