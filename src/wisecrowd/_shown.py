"""How a fitted model shows itself: a ledger, a page, figures, a notebook's cell.

These methods call layers above the models. They are imported when somebody asks, and
only here.
"""

from os import PathLike
from typing import Any

IN_MEMORY = ("_given", "_witnesses", "_gold_beside")
"""Data of the fit that a model keeps as long as it lives; no file has them."""


class Shown:
    """What a fitted model can show of itself."""

    def explain(self, item: Any) -> Any:
        """Return the ledger of a label: what speaks for it, and how much.

        Parameters
        ----------
        item : id of an item of the fit
            Numbers and text are compared as text.

        Returns
        -------
        DataFrame
            One row per witness: how frequent the classes are, each answer (after the
            discount for shared mistakes), the votes, the features, gold. `log_odds` is
            what the row adds to the log-odds of the label against the next most
            probable class; the columns ``log_NAME`` are what it adds for every class.
            They add up exactly to differences of ``log(label_proba_)``.

        Examples
        --------
        >>> import wisecrowd as wc
        >>> model = wc.aggregate([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
        >>> table = model.explain(0)
        >>> table[["kind", "who", "answer"]].iloc[-1].tolist()
        ['answer', '2', '1']
        >>> import numpy as np
        >>> one, other = np.log(model.label_proba_[0])
        >>> bool(np.isclose(table["log_odds"].sum(), one - other))
        True
        """
        from sklearn.utils.validation import check_is_fitted

        from wisecrowd.results.ledger import explained

        check_is_fitted(self)
        return explained(self, item)

    def report(
        self, path: str | PathLike[str], *, images: str | PathLike[str] | None = None
    ) -> None:
        """Write a page about what was learned: one HTML file that works offline.

        Parameters
        ----------
        path : path
            The file, such as ``"report.html"``. It is replaced if it exists.
        images : path, optional
            A folder with an image per item, called as the item.
        """
        from wisecrowd.report import write_report

        write_report(self._findings(), path, images=images)

    def to_review(self, budget: int = 100) -> Any:
        """Return the items whose review by an expert would help most.

        Parameters
        ----------
        budget : int
            The most items.

        Returns
        -------
        DataFrame
            One row per item that is not settled and has no gold class, the least
            probable label first. The columns are item, label, probability, n_answers,
            agreement (the share of the answers that name the label), why: a sentence,
            and gold: empty, for the expert.
        """
        return self._findings().to_review(budget)

    def plot_annotators(self, ax: Any = None) -> Any:
        """Draw every annotator: accuracy with interval, and number of answers.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure. So it is for the other figures.

        Returns
        -------
        Axes
            Where it was drawn.
        """
        return self._figures().plot_annotators(self, ax)

    def plot_confusion(self, annotator: Any, ax: Any = None) -> Any:
        """Draw the confusion matrix of one annotator, and return the axes."""
        return self._figures().plot_confusion(self, annotator, ax)

    def plot_trace(self, ax: Any = None) -> Any:
        """Draw how the fit went, the bound by step, and return the axes."""
        return self._figures().plot_trace(self, ax)

    def plot_reliability(self, gold: Any, ax: Any = None) -> Any:
        """Draw how often labels are right, by their probability; return the axes.

        Parameters
        ----------
        gold : dict or Series
            From item to class, for items whose class is known and that the fit was
            not given.
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.
        """
        return self._figures().plot_reliability(self, gold, ax)

    def _figures(self) -> Any:
        from sklearn.utils.validation import check_is_fitted

        from wisecrowd.results import figures

        check_is_fitted(self)
        return figures

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was learned, or the settings."""
        if not hasattr(self, "learned_"):
            from sklearn.utils import estimator_html_repr

            diagram: str = estimator_html_repr(self)
            return diagram
        from wisecrowd.results.notebook import of_model

        return of_model(self, self._findings() if hasattr(self, "_given") else None)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the same for newer notebooks, and text for the others."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _findings(self) -> Any:
        """Return what was learned from the data of the fit."""
        from sklearn.utils.validation import check_is_fitted

        from wisecrowd._checks import InputError
        from wisecrowd.results.findings import findings

        check_is_fitted(self)
        given = getattr(self, "_given", None)
        if given is None:
            raise InputError(
                "this model was loaded from a file, which does not hold the answers. "
                "Use 'wisecrowd report RUN', or the model that was fitted."
            )
        return findings(self, given.with_gold(getattr(self, "_gold_beside", {})))

    def _stopped_early(self) -> list[str]:
        """Return a note if a setting stopped the fit far from convergence."""
        from wisecrowd.results.stopped import stopped_early

        return stopped_early(self)
