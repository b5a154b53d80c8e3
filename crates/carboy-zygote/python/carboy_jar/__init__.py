"""The Python half of a zygote: import what was asked for, be forked, run one job.

The Rust half embeds these files as they are, and `boot.py` makes modules of them. What runs in a
jar runs beside guest code, which may do what it likes to these modules: nothing here is a wall, and
the engine believes none of it.

After a fork each page that is touched is a page fault, and those are most of what a short run
costs. So what a jar does before and after its code is little, and modules that no jar needs
(`threading` has much to do after a fork) are not imported.

Each module imports only those that stand before it:
    language, values, frames, forms, tables, convert, displays, showing, refusal, grants, texts, sentries,
    patches, faces, guard, tools, callee, answers, execute, job, computer, children,
    keeping, heads, zygote
"""
