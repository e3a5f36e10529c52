"""The command as a child process, for what would change this one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any, cast

from . import _native
from ._errors import CheckError, Error

# How long a child may clean up after Ctrl-C before it is killed, in seconds. Our choice.
_CLEANS_UP = 10.0
# How often Ctrl-C is looked for, in seconds.
_TICK = 0.05


def check(url: str | None = None, **options: Any) -> dict[str, Any]:
    """Test a live server for stalls, as ``ackwise check URL`` does.

    It runs in a child process, which moves into a network namespace of its own where a check needs one.

    Args:
        url: The server. Without it, the two built-in servers on loopback.
        options: Those of the command, with underscores: ``check(url, quick=True, rtt="80ms")``. True is an option
            without a value; a list repeats the option.

    Returns:
        The document of ``ackwise check --json``; ``ackwise.schema("check")`` describes it.

    Raises:
        CheckError: The server could not be checked, or an option is wrong.
    """
    return _call("check", url, options, CheckError)


def load(url: str | None = None, **options: Any) -> dict[str, Any]:
    """Generate load and count TIME-WAIT at both ends, as ``ackwise load URL`` does, in a child process.

    Args:
        url: The server.
        options: Those of the command, with underscores, as for `check`.

    Returns:
        The document of ``ackwise load --json``; ``ackwise.schema("load")`` describes it.

    Raises:
        Error: There was no load, or an option is wrong.
    """
    return _call("load", url, options, Error)


def model(**options: Any) -> dict[str, Any]:
    """Compute how long a page takes by HTTP over several transports, as ``ackwise model`` does.

    Args:
        options: Those of the command, with underscores: ``model(network="modem", rtt="150ms")``.

    Returns:
        The document of ``ackwise model --json``; ``ackwise.schema("model")`` describes it.

    Raises:
        Error: An option is wrong.
    """
    return cast(dict[str, Any], json.loads(_native.model(_arguments(options))))


def schema(name: str | None = None) -> Any:
    """The JSON Schema of a document, such as ``"explain"``; without a name, the names of all.

    Raises:
        Error: There is no such document.
    """
    if name is None:
        return _native.schema_names()
    found = _native.schema(name)
    if found is None:
        raise Error(f"unknown document {name!r} (expected one of {', '.join(_native.schema_names())})")
    return json.loads(found)


def document(arguments: list[str], error: type[Error], directory: str | None = None) -> str:
    """What the command prints with these arguments, of which one is ``--json``. Raises `error` if it has failed."""
    child = _start(arguments, directory)
    try:
        printed, complaints = _wait(child)
    except BaseException:
        _stop(child)
        raise
    message = _message(printed)
    if message is not None:
        raise error(message)
    if not printed:
        raise error(complaints.strip() or f"the command ended with exit code {child.returncode}")
    return printed


def _call(command: str, url: str | None, options: dict[str, Any], error: type[Error]) -> dict[str, Any]:
    urls = [] if url is None else [url]
    if any(it.startswith("-") for it in urls):
        raise error(f"{url!r} is no URL")
    # First, for what follows an option may be taken for its value.
    printed = document([command, *urls, "--json", *_arguments(options)], error)
    return cast(dict[str, Any], json.loads(printed))


def _arguments(options: dict[str, Any]) -> list[str]:
    arguments = []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                arguments.append(name)
            elif one is not False and one is not None:
                arguments.append(f"{name}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return arguments


def _start(arguments: list[str], directory: str | None) -> subprocess.Popen[str]:
    if not sys.executable:
        raise Error("cannot start the command: Python does not know its own program (sys.executable is empty)")
    # The same package, wherever this process found it.
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [path for path in (os.environ.get("PYTHONPATH"), here) if path]
    return subprocess.Popen(
        # Not from the current directory, which may have a file of this name.
        [sys.executable, "-P", "-m", "ackwise", *arguments],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        # A terminal's Ctrl-C is for this process, which tells the child.
        process_group=0,
    )


def _wait(child: subprocess.Popen[str]) -> tuple[str, str]:
    while True:
        try:
            return child.communicate(timeout=_TICK)
        except subprocess.TimeoutExpired:
            continue


def _stop(child: subprocess.Popen[str]) -> None:
    """Asks a child to clean up and end, and does not wait for it."""
    if child.poll() is not None:
        return
    child.send_signal(signal.SIGINT)

    def reap() -> None:
        try:
            child.communicate(timeout=_CLEANS_UP)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()

    threading.Thread(target=reap, name="ackwise", daemon=True).start()


def _message(printed: str) -> str | None:
    """The message of a document that is an error."""
    # Only these are short.
    if len(printed) > 1 << 16:
        return None
    try:
        read = json.loads(printed)
    except ValueError:
        return None
    is_error = isinstance(read, dict) and read.get("format", {}).get("name") == "ackwise-error"
    return cast(str, read["error"]) if is_error else None
