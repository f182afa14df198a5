"""A run on disk, so that a fit that was killed goes on where it stood.

One file holds the run, written under another name and put in place by one rename: at
any moment it is the last whole checkpoint or none. A fingerprint of the data and of the
settings says whose run it is.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors import safe_open
from safetensors.numpy import save as packed

from wisecrowd._checks import InputError
from wisecrowd._files import remove_leftovers, write_whole
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.feature_source import FeatureSource
from wisecrowd.fit.partners import partners
from wisecrowd.fit.stochastic import Run

FORMAT = "wisecrowd-checkpoint-1"
IRRELEVANT = (
    "checkpoint", "checkpoint_seconds", "progress", "resume", "time_limit",
)  # fmt: skip
"""Settings that may change between two sessions of one fit."""


@dataclass
class Checkpoint:
    """Where a run is kept, and how often.

    Parameters
    ----------
    path : Path or None
        The file; None keeps nothing.
    seconds : float
        The least time between two checkpoints.
    resume : bool
        Whether to go on from the file, if it is there.
    fingerprint : str
        Of the data and the settings.
    """

    path: Path | None
    seconds: float
    resume: bool
    fingerprint: str
    _last: float = field(default_factory=time.monotonic, init=False)

    @classmethod
    def of(cls, settings: Any, X: Any, answers: Answers, gold: Array) -> "Checkpoint":
        """Return the checkpoint that an estimator's settings ask for."""
        if settings.checkpoint is None:
            return NOWHERE
        path = Path(settings.checkpoint).expanduser()
        if not path.absolute().parent.is_dir():
            raise InputError(
                f"checkpoint={str(path)!r}: there is no folder "
                f"{str(path.absolute().parent)!r}. Make it first."
            )
        if path.is_dir():
            raise InputError(f"checkpoint={str(path)!r} is a folder; name a file.")
        if path.exists() and not is_checkpoint(path):
            raise InputError(
                f"checkpoint={str(path)!r} is another file, which would be replaced: "
                f"it is not a checkpoint. Choose another name."
            )
        found = fingerprint(settings, X, answers, gold)
        return cls(path, float(settings.checkpoint_seconds), settings.resume, found)

    def write(self, run: Run) -> None:
        """Keep a run, if the last one was kept long enough ago.

        Of several processes, the first one does it: all have the same run.
        """
        if self.path is None or time.monotonic() - self._last < self.seconds:
            return
        if partners().rank > 0:
            return
        tensors, about = flattened(run)
        about |= {"format": FORMAT, "fingerprint": self.fingerprint}
        write_whole(self.path, packed(tensors, metadata={"about": json.dumps(about)}))
        self._last = time.monotonic()

    def resumed(self, like: Callable[[], Any]) -> Run | None:
        """Return the run to go on from, or None to begin anew.

        `like` returns a state of the same structure; its values do not count.
        """
        found = self._found()
        run = None if found is None else restored(*found, like())
        mine, who = -1 if run is None else run.step, partners()
        if who.sum(np.array(mine)) != who.size * mine:
            raise InputError(
                f"{self.path} is not the same checkpoint for all processes. All of "
                f"them need to see its folder."
            )
        return run

    def seed(self, drawn: int) -> int:
        """Return the seed of the run to go on from; to begin anew, the drawn one.

        Without a `random_state`, each session would draw another.
        """
        found = self._found()
        return drawn if found is None else int(found[1]["run"]["seed"])

    def _found(self) -> tuple[dict[str, Array], dict[str, Any]] | None:
        """Return the arrays in the file and what it says about them, if it is there."""
        if self.path is None or not self.resume or not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                about = json.loads((file.metadata() or {}).get("about", "{}"))
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
        except (safetensors.SafetensorError, OSError, ValueError) as error:
            raise InputError(
                f"{self.path} is not a whole checkpoint ({error}). Delete it, or fit "
                f"without resume."
            ) from None
        if about.get("format") != FORMAT:
            raise InputError(f"{self.path} is not a checkpoint of this wisecrowd.")
        if about["fingerprint"] != self.fingerprint:
            raise InputError(
                f"{self.path} belongs to another fit: its data or its settings differ. "
                f"Go on with the same ones, or fit without resume."
            )
        return tensors, about

    def remove(self) -> None:
        """Delete the file: the fit is complete."""
        if self.path is not None and partners().rank == 0:
            self.path.unlink(missing_ok=True)
            remove_leftovers(self.path)  # of one that was killed


NOWHERE = Checkpoint(None, 0.0, resume=False, fingerprint="")


def is_checkpoint(path: Path) -> bool:
    """Return whether a file has the form of a checkpoint, whole or not."""
    with path.open("rb") as file:
        head = file.read(4096)
    return not head or b'{"__metadata__":' in head[:64]


def fingerprint(settings: Any, X: Any, answers: Answers, gold: Array) -> str:
    """Return a hash of what a fit depends on: settings, features, answers, gold.

    Features beyond memory are known by the sizes and times of their files.
    """
    if isinstance(X, FeatureSource):
        X = np.frombuffer(getattr(X, "stamp", "").encode(), np.uint8)
    known = settings.get_params(deep=False)
    relevant = {k: spelled(v) for k, v in sorted(known.items()) if k not in IRRELEVANT}
    found = hashlib.sha256(json.dumps([type(settings).__name__, relevant]).encode())
    for array in (X, answers.item, answers.annotator, answers.answer, gold):
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def spelled(value: Any) -> str:
    """Return a setting as text, the same in every process and whole however long."""
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        table = np.ascontiguousarray(value)  # of NumPy, or JAX's in a user's network
        content = hashlib.sha256(table.data).hexdigest()
        return f"{table.dtype.str}{table.shape}{content}"
    if isinstance(value, np.random.RandomState):
        value = value.get_state()
    if is_dataclass(value) and not isinstance(value, type):  # a kernel or a network
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        value = {type(value).__qualname__: own}
    if isinstance(value, Mapping):
        return repr({repr(key): spelled(part) for key, part in value.items()})
    if isinstance(value, list | tuple):
        return repr([spelled(part) for part in value])
    if hasattr(value, "__qualname__"):  # a function's repr has its place in memory
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def flattened(run: Run) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays of a run, and the rest of it for JSON."""
    import jax

    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(run.state)]
    tensors = {f"state.{i}": np.ascontiguousarray(a) for i, a in enumerate(leaves)}
    for i, (per_item, _) in enumerate(run.history):
        tensors[f"history.{i}"] = np.ascontiguousarray(per_item)
    rest = run._asdict()
    rest["history"] = [constant for _, constant in run.history]
    del rest["state"]
    return tensors, {"run": rest, "shapes": [leaf.shape for leaf in leaves]}


def restored(tensors: dict[str, Array], about: dict[str, Any], like: Any) -> Run:
    """Return the run of which `flattened` made these."""
    import jax

    kept = about["run"]
    leaves_of_like, structure = jax.tree.flatten(like)
    leaves: list[Any] = [
        tensors[f"state.{i}"].reshape(shape) for i, shape in enumerate(about["shapes"])
    ]
    for i, leaf in enumerate(leaves_of_like):
        if isinstance(leaf, float | int):  # a plain number becomes one again
            leaves[i] = type(leaf)(leaves[i].item())
    kept["history"] = tuple(
        (tensors[f"history.{i}"], constant)
        for i, constant in enumerate(kept["history"])
    )
    kept["rows"] = tuple(kept["rows"])
    return Run(state=jax.tree.unflatten(structure, leaves), **kept)
