import io
from contextlib import redirect_stderr

import pytest

from wisecrowd.fit.trace import Trace


def test_rows_keep_their_terms_and_seconds_never_run_backwards():
    trace = Trace("test", total=3, show=False)
    for bound in (-3.0, -2.0, -1.0):
        trace.record(labels=2 * bound, bound=bound)
    frame = trace.frame()
    assert list(frame.columns) == ["labels", "bound", "seconds"]
    assert frame["labels"].tolist() == [-6.0, -4.0, -2.0]
    assert frame.index.name == "step"
    assert frame["seconds"].is_monotonic_increasing


def test_a_trace_without_rows_is_an_empty_table():
    assert len(Trace("test", total=3, show=False).frame()) == 0


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "show", "drawn"),
    [
        (Terminal, None, True),
        (Terminal, True, True),
        (Terminal, False, False),
        (io.StringIO, None, False),
    ],
)
def test_the_bar_is_drawn_on_a_terminal_or_when_asked(stream, show, drawn, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    said = stream()
    with redirect_stderr(said), Trace("climbing", 1, show) as trace:
        trace.record(bound=-1.0)
    assert ("climbing" in said.getvalue()) is drawn


def test_the_bar_moves_before_the_first_row():
    with redirect_stderr(io.StringIO()), Trace("climbing", 7, show=True) as trace:
        (job,) = trace._bar.tasks
        assert job.total is None  # to and fro, until it is known how long a step takes
        assert "compiled" in job.fields["said"]
        trace.add({"bound": -1234.5}, done=2)
        assert (job.completed, job.total) == (2, 7)
        assert job.fields["said"] == "2/7 bound -1,234.5"
        trace.add({"bound": -1.0}, done=3, total=5)
        assert (job.completed, job.total) == (3, 5)
