# title: an event loop as older code makes it
# expect: ok
# check: result == 7
import asyncio

async def seven():
    return 7

loop = asyncio.new_event_loop()
result = loop.run_until_complete(seven())
loop.close()
