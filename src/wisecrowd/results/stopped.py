"""Fits that a setting of the user stopped far from convergence."""

from typing import Any

from wisecrowd._checks import counted

FAR = 0.005
"""Nats per item in `WINDOW` steps, more than ten times the default of `tol`. Of SVGPCR,
CrowdLayer and AggNet on two simulated crowds (300 and 3,000 items), all fits above it
but one were .01 or more below a complete fit in accuracy, and none below it lost more
than .03."""

WINDOW = 40  # steps, as in tol
LIMITS = ("max_epochs", "time_limit")


def stopped_early(model: Any) -> list[str]:
    """Return a note if max_epochs or time_limit stopped a fit far from convergence.

    The gain is that of the bound in the second half of the steps, in nats per item in
    `WINDOW` steps. (The last steps are small in any fit: the rates are lowered.) With
    one row in the trace there were too few steps to measure it.

    Methods that do not learn from minibatches have no such settings, and no note. The
    sentence names the setting to raise.
    """
    settings = model.get_params(deep=False)
    given = [name for name in LIMITS if settings.get(name) is not None]
    if "max_epochs" not in settings or not given:
        return []
    bound, steps = model.trace_["bound"].to_numpy(), model.trace_.index.to_numpy()
    still = "it was too short to measure how much the bound gains"
    if len(bound) > 1:
        half = max(int((steps <= steps[-1] / 2).sum()) - 1, 0)
        per_step = (bound[-1] - bound[half]) / (steps[-1] - steps[half])
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
