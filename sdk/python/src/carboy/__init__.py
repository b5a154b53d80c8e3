"""carboy runs Python that nobody has reviewed, sealed by the Linux kernel.

    >>> import carboy
    >>> carboy.run("result = sum(range(10))").result
    45

A `Sandbox` keeps modules imported and offers tools to the code; an `AsyncSandbox` does the same in
an event loop. Every run answers with an `Outcome`. What is raised is a `CarboyError`.
"""

from ._artifacts import Artifact, Artifacts, ArtifactWish
from ._async_jobs import AsyncJob
from ._async_sandbox import AsyncSandbox
from ._async_session import AsyncSession
from ._async_stream import AsyncRunStream, AsyncSessionStream
from ._check import Violation
from ._data_frames import FrameFile
from ._default import run
from ._displays import Display
from ._errors import (
    BusyError,
    CarboyError,
    EngineError,
    EngineGoneError,
    JobError,
    NotStartedError,
    RequestError,
    ToolError,
)
from ._extract import extract
from ._frames import FrameError
from ._jobs import JobState
from ._limits import Limits
from ._outcome import (
    CancelledRunError,
    CrashError,
    DeniedError,
    GuestExceptionError,
    LimitError,
    Outcome,
    RejectedError,
    RunError,
    SessionOutcome,
    TimeLimitError,
)
from ._policy import Drawing, Language, Policy
from ._record import (
    Chunk,
    Denial,
    Error,
    Exit,
    Isolation,
    LeftOut,
    LimitHit,
    Preloaded,
    ToolCall,
    Usage,
)
from ._runs import ChainReport, Difference, RecordedRun, Replayed, RunRecord, Runs
from ._sandbox import Sandbox
from ._schema import schema
from ._session import Session
from ._session_base import Variable, Variables
from ._sync_jobs import Job
from ._sync_stream import RunStream, SessionStream
from ._tools import Tool

__version__ = "0.1.0"

__all__ = [
    "Artifact",
    "ArtifactWish",
    "Artifacts",
    "AsyncJob",
    "AsyncRunStream",
    "AsyncSandbox",
    "AsyncSession",
    "AsyncSessionStream",
    "BusyError",
    "CancelledRunError",
    "CarboyError",
    "ChainReport",
    "Chunk",
    "CrashError",
    "Denial",
    "DeniedError",
    "Difference",
    "Display",
    "Drawing",
    "EngineError",
    "EngineGoneError",
    "Error",
    "Exit",
    "FrameError",
    "FrameFile",
    "GuestExceptionError",
    "Isolation",
    "Job",
    "JobError",
    "JobState",
    "Language",
    "LeftOut",
    "LimitError",
    "LimitHit",
    "Limits",
    "NotStartedError",
    "Outcome",
    "Policy",
    "Preloaded",
    "RecordedRun",
    "RejectedError",
    "Replayed",
    "RequestError",
    "RunError",
    "RunRecord",
    "RunStream",
    "Runs",
    "Sandbox",
    "Session",
    "SessionOutcome",
    "SessionStream",
    "TimeLimitError",
    "Tool",
    "ToolCall",
    "ToolError",
    "Usage",
    "Variable",
    "Variables",
    "Violation",
    "extract",
    "run",
    "schema",
]
