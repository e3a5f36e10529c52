"""Find, explain and reproduce stalls caused by the way HTTP and TCP interact.

    import ackwise

    report = ackwise.explain("capture.pcap")
    print(report)
    report.exchanges.to_pandas()

    result = ackwise.run("stalls", seeds=3)
    result.to_polars()

Tables are Arrow streams: pyarrow, pandas, Polars and DuckDB read them without a copy. A call changes nothing in
this process; what needs privileges, limits or signal handlers of its own runs in a child process.
"""

from . import tuning
from ._command import check, load, model, schema
from ._errors import CaptureError, CheckError, Error, ExperimentError
from ._experiment import Result, run
from ._many import Exchanges, explain_many
from ._native import __version__
from ._report import Report, explain
from ._simulation import Simulation
from ._sweep import sweep
from ._table import Table

__all__ = [
    "CaptureError",
    "CheckError",
    "Error",
    "Exchanges",
    "ExperimentError",
    "Report",
    "Result",
    "Simulation",
    "Table",
    "__version__",
    "check",
    "explain",
    "explain_many",
    "load",
    "model",
    "run",
    "schema",
    "sweep",
    "tuning",
]
