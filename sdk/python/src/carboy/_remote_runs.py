"""What is recorded of the runs of a tenant, on a server that keeps records."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from ._address import Address
from ._client import Client
from ._errors import RequestError
from ._outcome import Outcome
from ._runs import RecordedRun, RunRecord, Runs

# A server gives at most so many at once.
_PAGE = 200


class RemoteRuns(Runs):
    """The records of one tenant. What needs the whole store is for whoever runs the server."""

    def __init__(self, address: Address) -> None:
        self.store = address.url
        self._address = address

    def find(
        self,
        *,
        status: str | None = None,
        kind: str | None = None,
        tenant: str | None = None,
        since: str | None = None,
        until: str | None = None,
        text: str | None = None,
        most: int = 20,
    ) -> list[RecordedRun]:
        """Runs, the newest first. `seq` is 0: what place they have in the chain is the server's to know."""
        if tenant is not None or text is not None:
            raise RequestError("a server finds records by status, kind, since and until only")
        asked = {"status": status, "kind": kind, "since": since, "until": until}
        asked = {name: value for name, value in asked.items() if value is not None}
        found: list[RecordedRun] = []
        client = Client(self._address)
        try:
            while len(found) < most:
                wanted = {**asked, "most": str(min(most - len(found), _PAGE))}
                page = client.json("GET", f"/v1/records?{urlencode(wanted)}", is_long=True)
                found += [RecordedRun(seq=0, tenant=None, **row) for row in page["records"]]
                if page["next"] is None:
                    break
                asked["next"] = page["next"]
        finally:
            client.close()
        return found

    def show(self, id: str) -> RunRecord:
        """What is kept of a run, by its whole id. `hash` is empty."""
        client = Client(self._address)
        try:
            found = client.json("GET", f"/v1/records/{quote(id, safe='')}", is_long=True)
        finally:
            client.close()
        outcome = found.pop("outcome")
        return RunRecord("", **found, outcome=Outcome.from_dict(outcome) if outcome else None)

    def _output(self, words: list[str]) -> bytes:
        raise RequestError(
            f"`carboy runs {words[0]}` is for whoever runs the server",
            hint="with a server, `find` and `show` read the records of its tenant",
        )

    def __repr__(self) -> str:
        return f"RemoteRuns({self.store!r})"
