"""The script that fetches a candidate's tarball: by https alone, kept only if its sum is the named one."""

import hashlib
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

SCRIPT = Path(__file__).parent.parent / ".github/fetch-candidate"
FILE = "kafka_2.13-4.4.0.tgz"
TARBALL = b"a release" * 10_000
SHA512 = hashlib.sha512(TARBALL).hexdigest()
SECURE, PLAIN = "https://localhost", "http://localhost"

pytestmark = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("openssl")), reason="curl or openssl is not here"
)


class Place(NamedTuple):
    """Where tarballs are.

    Attributes:
        secure: beginning of addresses by TLS.
        plain: beginning of addresses without.
        certificate: whom to trust.
        asked: paths that somebody asked for.
    """

    secure: str
    plain: str
    certificate: Path
    asked: list[str]


def serve(asked: list[str], elsewhere: str, context: ssl.SSLContext | None = None) -> ThreadingHTTPServer:
    """A server of the tarball; below ``moved`` it sends elsewhere, below ``gone`` it has nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status = {"/moved": 302, "/gone": 404}.get(self.path.rpartition("/")[0], 200)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{elsewhere}/{FILE}")
            body = TARBALL if status == 200 else b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: pytest shows what the script prints."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of localhost, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return certificate, key


@pytest.fixture
def place(certified: tuple[Path, Path]) -> Iterator[Place]:
    asked: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certified)
    plain = serve(asked, "")
    insecure = f"{PLAIN}:{plain.server_address[1]}"
    secure = serve(asked, insecure, context)
    yield Place(f"{SECURE}:{secure.server_address[1]}", insecure, certified[0], asked)
    for server in (plain, secure):
        server.shutdown()
        server.server_close()


def fetch(folder: Path, place: Place, *words: str) -> "subprocess.CompletedProcess[str]":
    surroundings = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return subprocess.run(
        [SCRIPT, *words],
        cwd=folder,
        env=surroundings | {"CURL_CA_BUNDLE": str(place.certificate)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def grouped(digest: str) -> str:
    """As Apache writes it."""
    groups = [digest[at : at + 8].upper() for at in range(0, 128, 8)]
    return f"{FILE}: {' '.join(groups[:8])}\n                      {' '.join(groups[8:])}\n"


@pytest.mark.parametrize(
    "checksum", [SHA512, f"{SHA512}  {FILE}\n", grouped(SHA512)], ids=["bare", "gnu", "apache"]
)
def test_a_tarball_with_its_sum_is_kept(tmp_path: Path, place: Place, checksum: str) -> None:
    done = fetch(tmp_path, place, FILE, f"{place.secure}/{FILE}", checksum)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{FILE} is here, SHA-512 {SHA512}\n"
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert (tmp_path / FILE).read_bytes() == TARBALL


def test_a_tarball_with_another_sum_is_not_kept(tmp_path: Path, place: Place) -> None:
    done = fetch(tmp_path, place, FILE, f"{place.secure}/{FILE}", "0" * 128)
    assert done.returncode == 1
    assert "what was downloaded is not what was named" in done.stderr
    assert SHA512 in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["gone", "moved"])
def test_what_is_not_there_or_sends_to_plain_http_is_not_kept(
    tmp_path: Path, place: Place, below: str
) -> None:
    done = fetch(tmp_path, place, FILE, f"{place.secure}/{below}/{FILE}", SHA512)
    assert done.returncode not in {0, 64}
    assert done.stderr.startswith("curl: ")
    assert place.asked == [f"/{below}/{FILE}"]
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_the_named_one_is_not_believed(tmp_path: Path, place: Place) -> None:
    stranger = place._replace(certificate=Path("/dev/null"))
    assert fetch(tmp_path, stranger, FILE, f"{place.secure}/{FILE}", SHA512).returncode != 0
    assert place.asked == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("4.3.1", "", SHA512), "not named as a tarball"),
        (("../kafka.tgz", "", SHA512), "not named as a tarball"),
        (("-o.tgz", "", SHA512), "not named as a tarball"),
        (("$(id).tgz", "", SHA512), "not named as a tarball"),
        ((FILE, "plain", SHA512), "only fetched by https"),
        ((FILE, "file:///etc/passwd", SHA512), "only fetched by https"),
        ((FILE, "--help", SHA512), "only fetched by https"),
        ((FILE, "", ""), "no SHA-512"),
        ((FILE, "", "a" * 64), "no SHA-512"),
        ((FILE, "", f"{SHA512}0"), "no SHA-512"),
        ((FILE, "", f"{SHA512}  other.tgz"), "no SHA-512"),
    ],
)
def test_what_does_not_fit_is_refused_and_nobody_is_asked(
    tmp_path: Path, place: Place, words: tuple[str, str, str], why: str
) -> None:
    file, url, checksum = words
    address = {"": f"{place.secure}/{FILE}", "plain": f"{place.plain}/{FILE}"}.get(url, url)
    done = fetch(tmp_path, place, file, address, checksum)
    assert done.returncode == 64
    assert why in done.stderr
    assert "expected" in done.stderr
    assert place.asked == []
    assert list(tmp_path.iterdir()) == []
