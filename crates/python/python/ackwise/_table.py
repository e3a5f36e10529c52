"""Rows in columns."""

from __future__ import annotations

import importlib
from typing import Any

from . import _native


class Table:
    """Rows in columns, as an Arrow stream.

    Whatever reads the Arrow C stream interface takes it as it is, without a copy: ``pyarrow.table(table)``,
    ``polars.DataFrame(table)``, or DuckDB's ``FROM table``. Times are milliseconds in columns named ``…_ms``, and
    seconds in others.
    """

    __slots__ = ("_batch",)

    def __init__(self, batch: _native.Batch) -> None:
        self._batch = batch

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._batch.columns()

    @property
    def nbytes(self) -> int:
        """The size in memory, in bytes."""
        return self._batch.bytes()

    def __len__(self) -> int:
        return len(self._batch)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._batch.stream()

    def __arrow_c_schema__(self) -> object:
        return self._batch.schema()

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict for each row. Needs no package; of many rows, the other forms are faster."""
        return self._batch.rows()

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`. Needs pandas and pyarrow."""
        pyarrow = _imported("pyarrow", "to_pandas() needs pandas and pyarrow: pip install pandas pyarrow")

        return pyarrow.table(self).to_pandas()

    def to_polars(self) -> Any:
        """A `polars.DataFrame`. Needs Polars."""
        return _imported("polars", "to_polars() needs Polars: pip install polars").DataFrame(self)

    def __repr__(self) -> str:
        return f"<ackwise.{type(self).__name__}: {_counted(len(self), 'row')}, {_counted(len(self.columns), 'column')}>"

    def __getstate__(self) -> Any:
        return self._batch.parts()

    def __setstate__(self, state: Any) -> None:
        self._batch = _native.restore(state)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _imported(name: str, needs: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(needs, name=error.name) from error
