"""The base image: Debian with Java and network tools, for Kafka and for holders of network namespaces."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from docker import DockerClient
from docker.errors import DockerException, ImageNotFound
from docker.models.images import Image

from harness.cluster.engine import client_or_new
from harness.cluster.images.building import build
from harness.cluster.images.locks import build_lock
from harness.cluster.images.model import Label, Progress, silent
from harness.cluster.images.recipe import base_packages, content_hash, recipe_bytes
from harness.errors import EngineError, KrucibleError

SUITE = "bookworm"
REPOSITORY = "krucible/base"
UPSTREAM = "debian:bookworm-slim"
BOOTSTRAP_LIMIT_S = 900
CHUNK_BYTES = 1 << 20
LEFT_OUT = ("/usr/share/locale/*", "/usr/share/doc/*")
KEPT = ("/usr/share/doc/*/copyright",)


def base_reference() -> str:
    """Name and tag of the base image that this version of krucible uses."""
    parts = (SUITE, *LEFT_OUT, recipe_bytes("base-packages"), recipe_bytes("Dockerfile.base"))
    return f"{REPOSITORY}:{content_hash(parts)}"


def ensure_base(progress: Progress = silent, client: DockerClient | None = None) -> str:
    """The base image's name; the image is built first if this host does not have it.

    Raises:
        EngineError: if no engine answers.
        KrucibleError: if it can't be built; it names all attempts.
    """
    reference = base_reference()
    with client_or_new(client) as engine:
        if _exists(engine, reference):
            return reference
        with build_lock("base", progress):
            if not _exists(engine, reference):
                _build_base(engine, progress).tag(reference)
                progress(f"built {reference}")
    return reference


def base_if_cached(client: DockerClient) -> str | None:
    """The base image's name if this host has it."""
    reference = base_reference()
    return reference if _exists(client, reference) else None


def _exists(client: DockerClient, reference: str) -> bool:
    try:
        client.images.get(reference)
    except ImageNotFound:
        return False
    return True


def _build_base(client: DockerClient, progress: Progress) -> Image:
    reasons: list[str] = []
    if shutil.which("mmdebstrap"):
        try:
            return _bootstrap(client, progress)
        except KrucibleError as error:
            reasons.append(f"mmdebstrap: {error.got}")
    else:
        reasons.append("mmdebstrap: not installed")
    try:
        return _from_registry(client, progress)
    except KrucibleError as error:
        reasons.append(f"{UPSTREAM}: {error.got}")
    raise KrucibleError(
        "the base image could not be built",
        got="; ".join(reasons),
        expected="mmdebstrap and a Debian mirror, or a registry that answers",
        next_step="apt-get install mmdebstrap",
    )


def _bootstrap(client: DockerClient, progress: Progress) -> Image:
    progress("building the base image with mmdebstrap")
    with tempfile.TemporaryDirectory(prefix="krucible-base-") as name:
        tarball = Path(name, "base.tar")
        _run_mmdebstrap(tarball)
        changes = ['CMD ["/bin/sleep", "infinity"]', "ENV LANG=C.UTF-8", *_label_lines("mmdebstrap")]
        try:
            response = client.api.import_image_from_stream(_chunks(tarball), changes=changes)
        except DockerException as error:
            raise EngineError("the engine refused the base image", got=str(error)) from error
    return client.images.get(json.loads(response.splitlines()[-1])["status"])


def _run_mmdebstrap(tarball: Path) -> None:
    command = [
        *("mmdebstrap", "--variant=minbase", f"--include={','.join(base_packages())}"),
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
        *(f"--dpkgopt=path-include={pattern}" for pattern in KEPT),
        *(SUITE, str(tarball)),
    ]
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=BOOTSTRAP_LIMIT_S, check=True)
    except subprocess.TimeoutExpired as error:
        raise KrucibleError("mmdebstrap failed", got=f"not done after {BOOTSTRAP_LIMIT_S} s") from error
    except subprocess.CalledProcessError as error:
        reasons = [line for line in error.stderr.splitlines() if line.startswith("E:")]
        raise KrucibleError(
            "mmdebstrap failed", got="; ".join(reasons[-3:]) or error.stderr[-300:]
        ) from error


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def _label_lines(way: str) -> list[str]:
    return [f"LABEL {Label.SOURCE.value}={way}", f"LABEL {Label.RECIPE.value}={base_reference()}"]


def _from_registry(client: DockerClient, progress: Progress) -> Image:
    progress(f"building the base image on {UPSTREAM}")
    with tempfile.TemporaryDirectory(prefix="krucible-base-") as name:
        recipe = recipe_bytes("Dockerfile.base").decode()
        Path(name, "Dockerfile").write_text("\n".join([recipe, *_label_lines("registry"), ""]))
        arguments = {"BASE": UPSTREAM, "PACKAGES": " ".join(base_packages())}
        built = build(client, Path(name), arguments=arguments, network="default", progress=progress)
    return client.images.get(built)
