# title: a group of tasks
# expect: ok
# check: result == [2, 4]
import asyncio

async def double(n):
    await asyncio.sleep(0)
    return n * 2

async def main():
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(double(n)) for n in (1, 2)]
    return [t.result() for t in tasks]

result = asyncio.run(main())
