"""What may be wrong. A file that is missing is a `FileNotFoundError`, as elsewhere in Python."""


class Error(Exception):
    """Something that Ackwise could not do, in the words of the command."""


class CaptureError(Error):
    """A capture cannot be read or joined."""


class CheckError(Error):
    """A server could not be checked."""


class ExperimentError(Error):
    """An experiment is wrong, or could not be run to its end.

    Attributes:
        path: The key that is wrong, with dots, such as ``link.wire.rate``; None if it is no single key.
        line: The line of the file, from 1; of a dict, the number of its entry; None if an argument is wrong.
    """

    path: str | None
    line: int | None

    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line
