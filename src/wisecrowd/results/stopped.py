"""Fits that a setting of the user stopped far from convergence."""

from typing import Any

from wisecrowd._checks import counted

FAR = 0.03
"""Nats per item in `WINDOW` steps: a hundred times the default of `tol`."""

WINDOW = 40  # steps, as in tol
LIMITS = ("max_epochs", "time_limit")


def stopped_early(model: Any) -> list[str]:
    """Return a note if max_epochs or time_limit stopped a fit far from convergence.

    The gain is that of the bound between the last two rows of the trace, in nats per
    item in `WINDOW` steps. With one row there were too few steps to measure it.

    Parameters
    ----------
    model : fitted method
        Methods that do not learn from minibatches have no such settings, and no note.

    Returns
    -------
    list of str
        One sentence that names the setting to raise, or none.
    """
    settings = model.get_params(deep=False)
    given = [name for name in LIMITS if settings.get(name) is not None]
    if "max_epochs" not in settings or not given:
        return []
    bound, steps = model.trace_["bound"].to_numpy(), model.trace_.index
    still = "it was too short to measure how much the bound gains"
    if len(bound) > 1:
        per_step = (bound[-1] - bound[-2]) / (steps[-1] - steps[-2])
        gain = WINDOW * per_step / len(model.items_)
        if gain <= FAR:
            return []
        still = f"the bound still gained {gain:.2g} nats per item in {WINDOW} steps"
    raised = " or ".join(f"{name}=" for name in given)
    return [
        f"The fit was stopped after {counted(int(steps[-1]), 'step')}, far from "
        f"convergence: {still}. Its labels and predictions may be much worse than "
        f"those of a complete fit. Raise {raised}, or leave it out."
    ]
