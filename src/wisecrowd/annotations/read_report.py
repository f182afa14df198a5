"""The report on a file: what was read, and what was left out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wisecrowd._checks import counted


@dataclass(frozen=True)
class ReadReport:
    """What was read from a file, and what was left out.

    Attributes
    ----------
    path, format : str
        The file and its format.
    n_rows, n_kept : int
        The number of rows (or records) of the file, and of answers made of them.
    left_out : dict of str to int
        The number of rows that were left out, per reason.
    notes : tuple of str
        Other remarks, one sentence each.
    """

    path: str
    format: str
    n_rows: int
    n_kept: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def joined(
        cls, reports: "Sequence[ReadReport]", notes: Sequence[str] = ()
    ) -> "ReadReport":
        """Return the report on several files; new notes come first."""
        left_out: Counter[str] = Counter()
        for report in reports:
            left_out.update(report.left_out)
        return cls(
            path=", ".join(report.path for report in reports if report.path),
            format=" and ".join(dict.fromkeys(report.format for report in reports)),
            n_rows=sum(report.n_rows for report in reports),
            n_kept=sum(report.n_kept for report in reports),
            left_out=dict(left_out),
            notes=tuple(
                dict.fromkeys(
                    [*notes, *(n for report in reports for n in report.notes)]
                )
            ),
        )

    def __str__(self) -> str:
        """Return the report in a few lines."""
        lines = [
            f"{self.path}: {self.format}, {counted(self.n_rows, 'row')}, "
            f"{counted(self.n_kept, 'answer')}"
        ]
        lines += [f"  left out {n:,}: {why}" for why, n in self.left_out.items()]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)
