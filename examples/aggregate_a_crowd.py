"""Labels and annotators' skills from the answers of a crowd.

Run it as a script, or cell by cell in an editor that supports ``# %%``. It takes a few
seconds and needs no file.
"""

# %% A crowd whose true classes are known
# Forty annotators classify 800 sounds, with five answers per sound. A fifth of the
# annotators guess, a tenth are wrong on purpose, and some answers are "can't tell".
import tempfile

import wisecrowd as wc
from wisecrowd import metrics

crowd = wc.simulate(
    800,
    40,
    4,
    answers_per_item=5,
    spammers=0.2,
    adversaries=0.1,
    cant_tell=0.05,
    classes=["blip", "chirp", "whistle", "scattered light"],
    random_state=0,
)
answers = crowd.answers
print(answers)
print(f"Krippendorff's alpha: {metrics.krippendorff_alpha(answers):.2f}")

# %% Two methods
# Majority vote counts answers. BCC estimates the skill of each annotator as well.
votes = wc.MajorityVote().fit(answers)
model = wc.BCC().fit(answers)
for name, fitted in {"majority vote": votes, "BCC": model}.items():
    accuracy = metrics.accuracy(crowd.truth, fitted.label_proba_)
    log_loss = metrics.log_loss(crowd.truth, fitted.label_proba_)
    print(f"{name:>13}: accuracy {accuracy:.3f}, log loss {log_loss:.3f}")

# %% Who is good, who guesses, who is wrong on purpose
annotators = model.annotator_summary().assign(kind=crowd.kinds)
columns = ["annotator", "kind", "n_answers", "accuracy", "low", "high", "adversarial"]
worst = annotators.sort_values("accuracy")[columns].head(6)
print(worst.round(2).to_string(index=False))

# %% The confusion matrix of one annotator, with its uncertainty
# Rows are the true class, columns the answer; each row sums to one.
best = int(annotators["low"].argmax())
low, high = model.confusion_interval(0.95)
print(f"annotator {model.annotators_[best]}")
for c, name in enumerate(model.classes_):
    print(
        f"{name:>16}: right with probability {model.confusion_[best, c, c]:.2f} "
        f"({low[best, c, c]:.2f} to {high[best, c, c]:.2f})"
    )

# %% Where an expert helps most
# The expert classifies the forty items whose labels are least certain. These classes
# are gold: they go into the fit, and they tell more about the annotators.
uncertain = model.label_proba_.max(1).argsort()[:40]
known = {answers.items[n]: crowd.classes[crowd.truth[n]] for n in uncertain}
with_gold = wc.BCC().fit(answers, gold=known)
for name, fitted in {"the crowd alone": model, "with the expert": with_gold}.items():
    n_wrong = (fitted.label_proba_.argmax(1) != crowd.truth).sum()
    print(f"{name:>15}: {n_wrong} of {len(answers.items)} labels are wrong")

# %% Save the model, and use it on a new item
# Three annotators have answered the new item. One of them was not in the fit.
with tempfile.TemporaryDirectory() as folder:
    wc.save(model, folder)
    loaded = wc.load(folder)
new = {"new": {int(model.annotators_[best]): "chirp", 7: "chirp", 99: "blip"}}
proba = loaded.predict_proba(new)[0]
print(dict(zip(loaded.classes_.tolist(), proba.round(3).tolist(), strict=True)))
