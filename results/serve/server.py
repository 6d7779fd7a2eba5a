"""An HTTP server, only for this host, and only for requests with this host's name."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import BinaryIO, ClassVar

from results.serve.archive import Sink
from results.serve.routes import Response, StoreSite, refusal

ADDRESS = "127.0.0.1"
SILENCE_S_MAX = 60
"""Timeout (seconds) after which an idle client is disconnected."""
_PIECE_BYTES = 256 * 1024
_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
"""Accepted names in the Host header, with any port (a tunnel may use another one).  This prevents DNS
rebinding: a page of another site can't read the store."""
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Browser(ThreadingHTTPServer):
    """A server of one store on the loopback address."""

    daemon_threads = True

    def __init__(self, root: Path, port: int) -> None:
        self.site = StoreSite(root)
        super().__init__((ADDRESS, port), _Handler)

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Ignore clients that disconnected. Report other errors on stderr."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://{ADDRESS}:{self.server_address[1]}/"


@contextmanager
def open_browser(root: Path, port: int) -> Iterator[Browser]:
    """A server that listens until the end of the block; it answers during `Browser.serve_forever`.

    Args:
        root: the store; it may not exist yet.
        port: 0 for any free port.

    Raises:
        OSError: if the port can't be used.
    """
    with Browser(root.absolute(), port) as browser:
        yield browser


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    timeout: ClassVar[int] = SILENCE_S_MAX
    server: Browser

    def do_GET(self) -> None:
        """Answer a GET request."""
        self._send(self._answer())

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self.do_GET()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse requests that the standard library can't parse, and methods other than GET and HEAD."""
        del explain
        self.close_connection = True  # the rest of the request is not read
        refused = refusal(code, message or "that was not a valid request")
        if code == HTTPStatus.NOT_IMPLEMENTED:
            refused = refusal(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered")
            refused.headers = {"Allow": "GET, HEAD"}
        self._send(refused)

    def log_message(self, *_: object) -> None:
        """Log nothing on the user's terminal."""

    def _answer(self) -> Response:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not _HOST.fullmatch(hosts[0].strip()):
            return refusal(403, f"ask for http://{ADDRESS} or http://localhost by that name")
        if not self.path.startswith("/"):
            return refusal(400, "that is not an address of this server")
        return self.server.site.answer(self.path)

    def _send(self, response: Response) -> None:
        try:
            self._send_whole(response)
        except OSError:  # client disconnected or file truncated; a partial response must not look complete
            self.close_connection = True
        finally:
            if response.file is not None:
                response.file.close()

    def _send_whole(self, response: Response) -> None:
        chunked = response.archive is not None and self.request_version != "HTTP/1.0"
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Security-Policy", response.policy)
        for name, value in (_ALWAYS | response.headers).items():
            self.send_header(name, value)
        size = os.fstat(response.file.fileno()).st_size if response.file else len(response.body)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif response.archive is None:
            self.send_header("Content-Length", str(size))
        if response.archive is not None and not chunked:
            self.close_connection = True
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self._send_body(response, size, chunked=chunked)

    def _send_body(self, response: Response, size: int, *, chunked: bool) -> None:
        if response.file is not None:
            _copy(response.file, self.wfile, size)
        elif response.archive is not None and chunked:
            pieces = _Chunks(self.wfile)
            response.archive(pieces)
            pieces.end()
        elif response.archive is not None:
            response.archive(self.wfile)
        else:
            self.wfile.write(response.body)


class _Chunks:
    """Chunked transfer encoding; without the last chunk a response is incomplete."""

    def __init__(self, wire: Sink) -> None:
        self._wire = wire

    def write(self, data: bytes) -> None:
        """Send data as one chunk; an empty chunk would end the response, so it is not sent."""
        if data:
            self._wire.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        """Mark the end of the response."""
        self._wire.write(b"0\r\n\r\n")


def _copy(file: BinaryIO, wire: Sink, size: int) -> None:
    """Send the announced number of bytes, even if the file has grown since.

    Raises:
        OSError: if the file has become shorter.
    """
    left = size
    while left:
        piece = file.read(min(left, _PIECE_BYTES))
        if not piece:
            raise OSError("a file became shorter while it was sent")
        wire.write(piece)
        left -= len(piece)
