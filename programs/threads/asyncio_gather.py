# title: four tasks at once
# expect: ok
# check: result == 6
import asyncio

async def f(i):
    await asyncio.sleep(0.01)
    return i

async def main():
    return sum(await asyncio.gather(*(f(i) for i in range(4))))

result = asyncio.run(main())
