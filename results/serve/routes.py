"""Maps addresses to responses; does not use sockets."""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import msgspec

from results.markup.cleaning import clean
from results.report import TEMPLATES as REPORT_TEMPLATES
from results.serve.archive import Sink, write_archive
from results.serve.listing import ListedRun, RunListing
from results.serve.naming import run_named, short_names
from results.serve.pages import TEMPLATES, run_page, runs_page, trends_page
from results.serve.query import choose, parse_query
from results.serve.store_files import address, files_below, open_file, parts_of
from results.serve.trends import trends
from results.store.runs import REPORT_FILE

_HTML, _TEXT, _JSON = "text/html; charset=utf-8", "text/plain; charset=utf-8", "application/json"
_BYTES, _ARCHIVE = "application/octet-stream", "application/gzip"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""A report may come from anywhere: it can't run external scripts or make network requests."""
FILE_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
_STATIC = {
    "report.css": (REPORT_TEMPLATES / "report.css", "text/css; charset=utf-8"),
    "serve.css": (TEMPLATES / "serve.css", "text/css; charset=utf-8"),
    "serve.js": (TEMPLATES / "serve.js", "text/javascript; charset=utf-8"),
}
_SHOWN_AS_TEXT = frozenset((
    ".cfg", ".conf", ".edn", ".json", ".jsonl", ".log", ".md", ".properties", ".txt", ".xml", ".yaml", ".yml",
))  # fmt: skip
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9._-]")


class Response(msgspec.Struct, kw_only=True):
    """A response.

    Attributes:
        status: HTTP status.
        content_type: type of the body.
        body: the body, unless it is a file or an archive.
        file: an open file; its size is determined when it is sent, then it is closed.
        archive: writes a body whose length is not known in advance.
        headers: further headers.
        policy: the content security policy.
    """

    status: int = 200
    content_type: str = _HTML
    body: bytes = b""
    file: BinaryIO | None = None
    archive: Callable[[Sink], None] | None = None
    headers: dict[str, str] = {}
    policy: str = POLICY


class StoreSite:
    """Answers requests about a store."""

    def __init__(self, root: Path) -> None:
        self._listing = RunListing(root)
        self._root = self._listing.root

    def answer(self, target: str) -> Response:
        """Answer a request for a path with an optional query."""
        try:
            asked = urlsplit(target)
            return self._routed(asked.path, asked.query)
        except ValueError:  # invalid brackets, or too many fields in the query
            return refusal(400, "that is not an address of this server")
        except OSError:  # the folder of the run was deleted after it was listed
            return _nothing()

    def _routed(self, path: str, query: str) -> Response:
        pages = {"/": self._runs, "/trends": self._trends, "/api/runs.json": self._api}
        folders = {"runs": self._stored, "archives": self._archive, "static": _static}
        if path in pages:
            return pages[path](query)
        _, first, rest = path.split("/", 2) if path.count("/") > 1 else ("", "", "")
        return folders[first](rest) if first in folders else self._named(path[1:])

    def _runs(self, text: str) -> Response:
        entries, query = self._listing.entries(), parse_query(text)
        return _page(runs_page(entries, choose(entries, query), query, self._root))

    def _trends(self, text: str) -> Response:
        entries, query = self._listing.entries(), parse_query(text)
        chosen = sorted(choose(entries, query).chosen, key=lambda entry: entry.name, reverse=True)
        return _page(trends_page(entries, chosen, trends(chosen), query))

    def _api(self, text: str) -> Response:
        entries = self._listing.entries()
        chosen, names = choose(entries, parse_query(text)).chosen, short_names(entries)
        document = {"runs": [_as_json(entry, names[entry.place]) for entry in chosen]}
        # Names of folders may not be UTF-8, which msgspec requires.
        return Response(content_type=_JSON, body=json.dumps(document).encode())

    def _stored(self, rest: str) -> Response:
        """A run's page, or one of its files."""
        parts = parts_of(rest.removesuffix("/"))
        if parts is None:
            return _nothing()
        entries = self._listing.entries()
        found = _run_at(entries, parts)
        if found is None:
            return _redirected(run_named(entries, "/".join(parts)))
        entry, depth = found
        if depth == len(parts):
            files, name = files_below(self._root, parts), short_names(entries)[entry.place]
            return _page(run_page(entry, files, self._root, name))
        return self._file(parts, is_report=parts[depth:] == (REPORT_FILE,))

    def _named(self, rest: str) -> Response:
        """The page of a run by its short name or its place, without ``/runs/``; its files have none such."""
        parts = parts_of(rest.removesuffix("/"))
        if parts is None:
            return _nothing()
        entries = self._listing.entries()
        exact = _run_at(entries, parts)
        is_place = exact is not None and exact[1] == len(parts)
        return _redirected(exact[0] if exact and is_place else run_named(entries, "/".join(parts)))

    def _file(self, parts: tuple[str, ...], *, is_report: bool) -> Response:
        try:
            file = open_file(self._root, parts)
        except OSError:
            return _nothing()
        if is_report:
            return Response(file=file, policy=REPORT_POLICY)
        if Path(parts[-1]).suffix in _SHOWN_AS_TEXT:
            return Response(content_type=_TEXT, file=file, policy=FILE_POLICY)
        return Response(content_type=_BYTES, file=file, policy=FILE_POLICY, headers=_saved_as(parts[-1]))

    def _archive(self, rest: str) -> Response:
        parts = parts_of(rest.removesuffix(".tar.gz"))
        if not rest.endswith(".tar.gz") or parts is None:
            return _nothing()
        found = _run_at(self._listing.entries(), parts)
        if found is None or found[1] != len(parts):
            return _nothing()
        return Response(
            content_type=_ARCHIVE,
            archive=lambda sink: write_archive(self._root, parts, sink),
            headers=_saved_as(f"{'-'.join(parts)}.tar.gz"),
            policy=FILE_POLICY,
        )


def _run_at(entries: Iterable[ListedRun], parts: tuple[str, ...]) -> tuple[ListedRun, int] | None:
    """The run at the start of a path, and the number of names in its place. Runs do not contain runs."""
    places = {entry.place: entry for entry in entries}
    depths = (depth for depth in range(1, len(parts) + 1) if "/".join(parts[:depth]) in places)
    depth = next(depths, None)
    return None if depth is None else (places["/".join(parts[:depth])], depth)


def _redirected(entry: ListedRun | None) -> Response:
    if entry is None:
        return _nothing()
    place = f"/runs/{address(entry.place.split('/'))}"
    return Response(status=302, content_type=_TEXT, headers={"Location": place})


def refusal(status: int, reason: str) -> Response:
    """A response that gives a reason in one line."""
    return Response(status=status, content_type=_TEXT, body=f"{reason}\n".encode(), policy=FILE_POLICY)


def _nothing() -> Response:
    return refusal(404, "there is no such run, file or page in this store; all runs are at /")


def _page(text: str) -> Response:
    return Response(body=text.encode("utf-8", "backslashreplace"))


def _static(name: str) -> Response:
    if name not in _STATIC:
        return _nothing()
    path, content_type = _STATIC[name]
    return Response(content_type=content_type, body=path.read_bytes())


def _saved_as(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{_UNSAFE_IN_NAME.sub("_", name)}"'}


def _as_json(entry: ListedRun, name: str) -> dict[str, object]:
    run = entry.summary
    return {
        "place": entry.place,
        "name": name,
        "href": f"/runs/{address(entry.place.split('/'))}",
        "scenario": run.scenario,
        "kafka_version": run.kafka_version,
        "seed": run.seed,
        "began_at": run.began_at,
        "verdict": entry.outcome,
        "as_expected": run.as_expected,
        "anomalies": run.anomalies,
        "illegal": run.illegal,
        "causes": entry.causes,
        "replay_of": run.replay_of,
        "faults": entry.faults,
        "operations": entry.operations,
        "duration_ms": entry.duration_ms,
        "problems": [clean(problem, 2_000) for problem in run.problems],
    }
