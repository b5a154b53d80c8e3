# title: a connection of asyncio
# expect: refuse
# says: no network
import asyncio

async def main():
    reader, writer = await asyncio.open_connection("93.184.216.34", 80)

asyncio.run(main())
