"""The answers of a crowd as integer codes: the form in which formulas take them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from wisecrowd._types import Ids


@dataclass(frozen=True, eq=False)
class Answers:
    """Who gave which answer about which item: integer codes, sorted by item.

    The sparse matrices are built on first use and then kept. With them, a sum over the
    answers of every item, or of every annotator, is one sparse product.

    Attributes
    ----------
    item, annotator, answer : int32 arrays of length L
        One entry per answer, sorted by item.
    n_items, n_annotators, n_classes, n_answers : int
        N, A, C and K. The first C of the K possible answers are the classes.

    Examples
    --------
    >>> item, annotator, answer = np.array([[1, 0, 1], [0, 1, 2], [0, 1, 1]])
    >>> answers = Answers.from_codes(item, annotator, answer, (2, 3, 2, 2))
    >>> answers.item.tolist(), answers.votes().tolist()
    ([0, 1, 1], [[0, 1], [1, 1]])
    """

    item: Int[np.ndarray, " L"]
    annotator: Int[np.ndarray, " L"]
    answer: Int[np.ndarray, " L"]
    n_items: int
    n_annotators: int
    n_classes: int
    n_answers: int

    @classmethod
    def from_codes(
        cls,
        item: Ids,
        annotator: Ids,
        answer: Ids,
        shape: tuple[int, int, int, int],
    ) -> "Answers":
        """Sort the rows by item; `shape` is (N, A, C, K)."""
        columns = [np.asarray(column, np.int32) for column in (item, annotator, answer)]
        if (columns[0][1:] < columns[0][:-1]).any():
            order = sorted_rows(columns[0], shape[0])
            columns = [column[order] for column in columns]
        return cls(columns[0], columns[1], columns[2], *shape)

    def __len__(self) -> int:
        return len(self.item)

    # -- sums -------------------------------------------------------------------

    @cached_property
    def row_start(self) -> Int[np.ndarray, " N_and_one"]:
        """The first row of each item: item n has the rows start[n]:start[n + 1]."""
        return np.searchsorted(self.item, np.arange(self.n_items + 1))

    @property
    def n_per_item(self) -> Int[np.ndarray, " N"]:
        """The number of answers of each item, repeated answers included."""
        return np.diff(self.row_start)

    @property
    def n_per_annotator(self) -> Int[np.ndarray, " A"]:
        """The number of answers of each annotator."""
        return np.bincount(self.annotator, minlength=self.n_annotators)

    @cached_property
    def matrix(self) -> sparse.csr_matrix:
        """How often each annotator gave each answer about each item, [N, A * K]."""
        column = self.annotator.astype(np.int64) * self.n_answers + self.answer
        shape = (self.n_items, self.n_annotators * self.n_answers)
        rows = np.ones(len(self)), column, self.row_start
        made = sparse.csr_matrix(rows, shape)
        made.sum_duplicates()
        return made

    @cached_property
    def transposed(self) -> sparse.csr_matrix:
        """The transpose, [A * K, N]; stored, because its products are twice as fast."""
        return self.matrix.T.tocsr()

    @cached_property
    def per_item(self) -> sparse.csr_matrix:
        """The matrix that adds up a value per answer to a value per item, [N, L]."""
        rows = np.arange(len(self))
        ones = np.ones(len(self))
        return sparse.csr_matrix(
            (ones, rows, self.row_start), (self.n_items, len(self))
        )

    @cached_property
    def n_repeats(self) -> Int[np.ndarray, " L"]:
        """How often the annotator gave this answer about this item, itself included."""
        _, where, n_each = np.unique(self._key, return_inverse=True, return_counts=True)
        return n_each[where]

    def counts(
        self, by: Literal["item", "annotator"] = "item"
    ) -> Int[np.ndarray, "rows K"]:
        """Count how often each answer was given, per item or per annotator."""
        codes, n_rows = {
            "item": (self.item, self.n_items),
            "annotator": (self.annotator, self.n_annotators),
        }[by]
        flat = codes.astype(np.int64) * self.n_answers + self.answer
        size = n_rows * self.n_answers
        return np.bincount(flat, minlength=size).reshape(n_rows, -1)

    def votes(self) -> Int[np.ndarray, "N C"]:
        """Count the answers that name each class, per item."""
        return self.counts()[:, : self.n_classes]

    def right_proba(self, proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, " L"]:
        """Return q(z = y) for every answer; 0 where the answer is not a class."""
        named = self.answer < self.n_classes
        right = proba[self.item, np.where(named, self.answer, 0)]
        return np.where(named, right, 0.0)

    # -- parts ------------------------------------------------------------------

    def some(self, rows: Bool[np.ndarray, " L"]) -> "Answers":
        """Return the chosen rows; items, annotators and classes keep their codes."""
        item, annotator, answer = self.item, self.annotator, self.answer
        return Answers(item[rows], annotator[rows], answer[rows], *self.shape)

    def distinct(self) -> "Answers":
        """Return every (item, annotator, answer) once, without its repeats."""
        return self._distinct

    @cached_property
    def _distinct(self) -> "Answers":
        matrix = self.matrix
        item = np.repeat(np.arange(self.n_items), np.diff(matrix.indptr))
        annotator, answer = np.divmod(matrix.indices, self.n_answers)
        return Answers.from_codes(item, annotator, answer, self.shape)

    def of_items(self, items: Int[np.ndarray, " n"]) -> "Answers":
        """Return the answers on these items, renumbered 0, 1, ... in this order."""
        code = np.full(self.n_items, -1, np.int32)
        code[items] = np.arange(len(items), dtype=np.int32)
        kept = np.flatnonzero(code[self.item] >= 0)
        columns = (code[self.item[kept]], self.annotator[kept], self.answer[kept])
        return Answers.from_codes(*columns, (len(items), *self.shape[1:]))

    def ordered(self) -> "Answers":
        """Return the answers of each item by annotator and answer.

        Sums and random draws depend on the order, and that of a file must not count.
        """
        order = np.argsort(self._key)
        item, annotator, answer = self.item, self.annotator, self.answer
        return Answers(item[order], annotator[order], answer[order], *self.shape)

    def with_answer(self, answer: Int[np.ndarray, " L"]) -> "Answers":
        """Return the same items and annotators with other answers."""
        return replace(self, answer=answer)

    @property
    def _key(self) -> Int[np.ndarray, " L"]:
        """One number per (item, annotator, answer), in their order."""
        pair = self.item.astype(np.int64) * self.n_annotators + self.annotator
        return pair * self.n_answers + self.answer

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(N, A, C, K)."""
        return self.n_items, self.n_annotators, self.n_classes, self.n_answers


def sorted_rows(codes: Int[np.ndarray, " L"], n_codes: int) -> Int[np.ndarray, " L"]:
    """Return the row numbers that sort the codes; equal codes keep their order.

    SciPy builds a sparse matrix by counting: six times faster than a stable argsort.
    """
    rows = np.arange(len(codes), dtype=np.int32)
    ones = np.ones(len(codes), dtype=bool)
    return (
        sparse.coo_array((ones, (codes, rows)), (n_codes, len(codes))).tocsr().indices
    )
