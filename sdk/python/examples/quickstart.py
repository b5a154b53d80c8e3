"""First things to do with carboy: run, ask why not, offer a tool, read output as it comes."""

from __future__ import annotations

import carboy


def rate(currency: str) -> float:
    """How many euros one unit of a currency is."""
    rates = {"CHF": 1.05, "USD": 0.9}
    if currency not in rates:
        raise carboy.ToolError(f"no rate for {currency}")
    return rates[currency]


def main() -> None:
    # One run, in an engine that the whole program shares.
    outcome = carboy.run("result = sum(prices)", inputs={"prices": [3, 4, 5]})
    print("sum:", outcome.result)

    # What goes wrong is an outcome too.
    refused = carboy.run("import socket; socket.socket()")
    assert refused.error is not None
    print("refused:", refused.error.kind, "because", refused.denials[0].what)

    # A box has its own engine and policy. The code may call the box's tools.
    policy = carboy.Policy.preset("low", memory_bytes="64MiB")
    with carboy.Sandbox(tools=[rate], policy=policy) as box:
        print("euros:", box.run("100 * rate('USD')").result)
        try:
            box.run("rate('XYZ')", on_error="raise")
        except carboy.GuestExceptionError as error:
            print("raised:", error)

        # Output as it comes, and the outcome at the end.
        with box.stream("for n in range(3): print(n)\nresult = 'done'") as stream:
            for chunk in stream:
                print(f"{chunk.stream}: {chunk.text!r}")
        print("stream:", stream.outcome.result)


if __name__ == "__main__":
    main()
