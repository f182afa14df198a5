"""What a reader found in a file, for a person to read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wisecrowd._checks import counted


@dataclass(frozen=True)
class ReadReport:
    """What a reader found in a file, and what it left out.

    Attributes
    ----------
    path, format : str
        Where the annotations come from and the form they had.
    n_rows, n_kept : int
        Rows (or records) seen, and annotations made of them.
    left_out : dict of str to int
        How many rows were left out, for each reason.
    notes : tuple of str
        Anything else that a person should know, one sentence each.
    """

    path: str
    format: str
    n_rows: int
    n_kept: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it in a few lines."""
        lines = [
            f"{self.path}: {self.format}, {counted(self.n_rows, 'row')}, "
            f"{counted(self.n_kept, 'annotation')}"
        ]
        lines += [f"  left out {n:,}: {why}" for why, n in self.left_out.items()]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)
