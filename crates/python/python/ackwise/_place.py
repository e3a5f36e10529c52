"""Where files are: in directories, or objects with a URL, whose bytes fsspec carries."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from ._errors import CaptureError, Error
from ._executor import reason

PLAN = "plan.json"


def is_url(path: str) -> bool:
    """Whether this names an object, such as ``s3://bucket/name``."""
    return re.match("[a-z][a-z0-9+.-]*://", path) is not None


def absolute(path: str | os.PathLike[str]) -> str:
    """A path that processes with other working directories can use, too. A URL is one."""
    text = os.fsdecode(path)
    return text.rstrip("/") if is_url(text) else os.path.abspath(text)


class Store:
    """A store in a directory of this process."""

    def __init__(self, name: str, directory: str) -> None:
        self.name, self.directory = name, directory

    def publish(self) -> bool:
        """Lets others see what is new in the directory, and that files are gone.

        Returns whether that is all: False if another process has begun the store meanwhile, whose plan is there now.
        """
        return True

    def refresh(self) -> None:
        """Brings what others have written into the directory."""

    def forget(self, names: Sequence[str]) -> None:
        """Removes objects that others replace. In a directory, who writes the others removes these."""

    def plan(self) -> bytes:
        with open(os.path.join(self.directory, PLAN), "rb") as file:
            return file.read()

    def names(self) -> list[str]:
        return os.listdir(self.directory)

    def create(self, name: str) -> None:
        """Creates an empty file."""
        with open(os.path.join(self.directory, name), "x"):
            pass

    def remove(self, name: str) -> None:
        os.remove(os.path.join(self.directory, name))


class _Mirror(Store):
    """A store of objects, and a temporary directory that has copies of them.

    An object appears whole: it is written by one request, which fails if there is one of this name
    (``mode="create"``). A file that fsspec opens for writing would be there by half when its writer fails.
    """

    def __init__(self, url: str, directory: str) -> None:
        super().__init__(url, directory)
        self._files, self._root = _file_system(url)
        # Names of objects that are in the directory, or were.
        self._copied: set[str] = set()

    def publish(self) -> bool:
        present = set(os.listdir(self.directory))
        is_first = True
        for name in sorted(present - self._copied):
            with open(os.path.join(self.directory, name), "rb") as file:
                is_new = self._create(name, file.read())
            if name == PLAN and not is_new:
                is_first = False
                self.copy([PLAN])
        self.forget(sorted(self._copied - present))
        self._copied = present
        return is_first

    def refresh(self) -> None:
        self.copy([name for name in self.names() if name not in self._copied])

    def forget(self, names: Sequence[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                self.remove(name)

    def copy(self, names: Sequence[str]) -> None:
        """Copies objects into the directory."""
        if names:
            with _carrying(self.name):
                own = [os.path.join(self.directory, name) for name in names]
                self._files.get([self._path(name) for name in names], own)
        self._copied.update(names)

    def begin(self) -> None:
        """Copies all objects of a store. Of other ones, only the names."""
        names = self.names()
        if PLAN in names:
            return self.copy(names)
        for name in names:
            super().create(name)
        self._copied.update(names)

    def plan(self) -> bytes:
        with _carrying(self.name):
            content: bytes = self._files.cat_file(self._path(PLAN))
            return content

    def names(self) -> list[str]:
        with _carrying(self.name):
            try:
                found = self._files.ls(self._root, detail=True)
            except FileNotFoundError:
                return []
        names = [entry["name"].rsplit("/", 1)[-1] for entry in found if entry["type"] == "file"]
        return [name for name in names if name not in ("", os.curdir, os.pardir)]

    def create(self, name: str) -> None:
        self._create(name, b"")

    def remove(self, name: str) -> None:
        with _carrying(self.name):
            self._files.rm_file(self._path(name))

    def _create(self, name: str, content: bytes) -> bool:
        """Creates an object, unless it is there. Returns whether it was not."""
        with _carrying(self.name):
            try:
                self._files.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return False
        return True

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


@contextlib.contextmanager
def opened(store: str) -> Iterator[Store]:
    """A store as the process that hands out work sees it, with what is there."""
    if not is_url(store):
        yield Store(store, store)
        return
    with _mirror(store) as mirror:
        mirror.begin()
        yield mirror


@contextlib.contextmanager
def joined(store: str) -> Iterator[Store]:
    """A store that another process has begun, as a worker sees it: with nothing but its plan, if it is of objects."""
    if not is_url(store):
        yield Store(store, store)
        return
    with _mirror(store) as mirror:
        mirror.copy([PLAN])
        yield mirror


@contextlib.contextmanager
def _mirror(url: str) -> Iterator[_Mirror]:
    with tempfile.TemporaryDirectory(prefix="ackwise-") as directory:
        try:
            yield _Mirror(url, directory)
        except Error as error:
            # The user knows the URL.
            error.args = tuple(str(it).replace(directory, url) for it in error.args)
            raise


class Object:
    """A file, or an object, that is read."""

    def __init__(self, path: str) -> None:
        self._name = path

    def stamp(self) -> tuple[str, int, int | None, str | None]:
        """Its absolute path or its URL, its size, and when a file was written last or an object's ETag."""
        if not is_url(self._name):
            status = os.stat(self._name)
            return absolute(self._name), status.st_size, status.st_mtime_ns, None
        files, path = _file_system(self._name)
        with _carrying(self._name):
            found = files.info(path)
        # Of stores without ETags, what else changes with the content.
        version = found.get("ETag") or found.get("etag") or found.get("LastModified") or found.get("created")
        return self._name, found["size"], None, str(version).strip('"')

    @contextlib.contextmanager
    def local(self) -> Iterator[str]:
        """A file with its content."""
        if not is_url(self._name):
            yield self._name
            return
        files, path = _file_system(self._name)
        with tempfile.TemporaryDirectory(prefix="ackwise-") as directory:
            copy = os.path.join(directory, "capture")
            with _carrying(self._name):
                files.get_file(path, copy)
            try:
                yield copy
            except CaptureError as error:
                error.args = tuple(str(it).replace(copy, self._name) for it in error.args)
                raise


def _file_system(url: str) -> tuple[Any, str]:
    """What fsspec has for this URL, and the path there."""
    try:
        import fsspec  # A store in a directory works without it.

        # Other processes write there.
        files, path = fsspec.url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise Error(f"cannot use {url}: {error} (for S3: pip install 'ackwise[s3]')") from error
    return files, path.rstrip("/")


@contextlib.contextmanager
def _carrying(url: str) -> Iterator[None]:
    """What fails beyond fsspec is an error of the system, with the URL."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{url}: {error}") from error
    except Exception as error:
        raise OSError(f"{url}: {reason(error)}") from error
