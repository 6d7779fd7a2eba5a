"""The scripts that keep images between nights and build trunk's tarball.  Docker and Gradle are ours."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / ".github"
DOCKER = """#!/bin/bash
printf '%s\\n' "$*" >>"$CALLS"
case "$2" in
ls) cat "$IMAGES" ;;
save) printf '%s\\n' "${@:5}" >"$4" ;;
esac
"""
GRADLEW = """#!/bin/bash
set -eu
[[ "$*" == *releaseTarGz* ]]
echo built >>"$CALLS"
mkdir -p core/build/distributions
for name in ${NAMES-}; do echo "$name" >core/build/distributions/"$name"; done
"""
NAME = "kafka_2.13-4.4.0-SNAPSHOT.tgz"
DOCUMENTS = "kafka_2.13-4.4.0-SNAPSHOT-site-docs.tgz"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def called(place: Path, script: str, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    surroundings = os.environ | {
        "PATH": f"{place}/bin:{os.environ['PATH']}",
        "CALLS": str(place / "calls"),
        "IMAGES": str(place / "images.txt"),
    }
    return subprocess.run(
        [SCRIPTS / script, *words],
        cwd=place,
        env=surroundings | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A folder in which docker is a program that writes down what it is asked for."""
    program(tmp_path / "bin/docker", DOCKER)
    (tmp_path / "images.txt").write_text("krucible/kafka:4.3.1-a\nkrucible/base:b\nkrucible/kafka:<none>\n")
    return tmp_path


def test_krucibles_images_are_saved_in_one_file_and_loaded_from_it(engine: Path) -> None:
    file = "kept/krucible.tar"
    assert called(engine, "images", "load", file).returncode == 0
    assert not (engine / "calls").exists()
    assert called(engine, "images", "save", file).returncode == 0
    assert (engine / file).read_text() == "krucible/base:b\nkrucible/kafka:4.3.1-a\n"
    assert "reference=krucible/*" in (engine / "calls").read_text()
    assert called(engine, "images", "load", file).returncode == 0
    assert (engine / "calls").read_text().endswith(f"image load --quiet --input {file}\n")


def test_where_there_is_no_image_nothing_is_saved(engine: Path) -> None:
    (engine / "images.txt").write_text("krucible/kafka:<none>\n")
    assert called(engine, "images", "save", "kept/krucible.tar").returncode == 0
    assert not (engine / "kept").exists()


def test_what_is_neither_is_refused(engine: Path) -> None:
    assert called(engine, "images", "drop", "x").returncode == 64
    assert called(engine, "images", "load").returncode != 0


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with a checkout that can be built."""
    program(tmp_path / "kafka/gradlew", GRADLEW)
    return tmp_path


def test_the_releases_tarball_is_built_and_named(checkout: Path) -> None:
    output = checkout / "output"
    done = called(
        checkout, "build-tarball", "kafka", "trunk", NAMES=f"{DOCUMENTS} {NAME}", GITHUB_OUTPUT=str(output)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == output.read_text() == f"tarball={NAME}\n"
    assert [path.name for path in (checkout / "trunk").iterdir()] == [NAME]
    assert (checkout / "trunk" / NAME).read_text() == f"{NAME}\n"


def test_one_that_is_there_is_not_built_again(checkout: Path) -> None:
    (checkout / "trunk").mkdir()
    (checkout / "trunk" / NAME).touch()
    assert called(checkout, "build-tarball", "kafka", "trunk", GITHUB_OUTPUT="").stdout == f"tarball={NAME}\n"
    assert not (checkout / "calls").exists()


@pytest.mark.parametrize("names", ["", DOCUMENTS, f"{NAME} kafka_2.13-4.5.0.tgz"])
def test_a_build_without_exactly_one_tarball_is_reported(checkout: Path, names: str) -> None:
    done = called(checkout, "build-tarball", "kafka", "trunk", NAMES=names, GITHUB_OUTPUT="")
    assert done.returncode == 1
    assert "expected one tarball in trunk" in done.stderr


def test_a_build_that_fails_is_no_tarball(checkout: Path) -> None:
    program(checkout / "kafka/gradlew", "#!/bin/bash\nexit 9\n")
    assert called(checkout, "build-tarball", "kafka", "trunk", GITHUB_OUTPUT="").returncode == 9
