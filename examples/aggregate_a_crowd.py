"""Labels and annotators' skills from a crowd's answers.

Run it as a script, or cell by cell in an editor that knows ``# %%``. It takes a few
seconds and needs no file.
"""

# %% A crowd whose truth we know
# Forty people name 800 sounds, five answers a sound. A fifth of them guess, a tenth
# answer wrongly on purpose, and now and then somebody cannot tell.
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
labels = crowd.labels
print(labels)
print(f"Krippendorff's alpha: {metrics.krippendorff_alpha(labels):.2f}")

# %% Two methods
# Majority vote counts heads. BCC learns how each person answers, and how sure it is.
votes = wc.MajorityVote().fit(labels)
model = wc.BCC().fit(labels)
for name, fitted in {"majority vote": votes, "BCC": model}.items():
    accuracy = metrics.accuracy(crowd.truth, fitted.label_proba_)
    log_loss = metrics.log_loss(crowd.truth, fitted.label_proba_)
    print(f"{name:>13}: accuracy {accuracy:.3f}, log loss {log_loss:.3f}")

# %% Who is good, who guesses, who works against us
people = model.annotator_summary().assign(kind=crowd.kinds)
columns = ["annotator", "kind", "n_labels", "accuracy", "low", "high", "adversarial"]
print(people.sort_values("accuracy")[columns].round(2).head(6).to_string(index=False))

# %% One person's confusion matrix, with its uncertainty
# Rows are the truth, columns the answer; each row sums to one.
best = int(people["low"].argmax())
low, high = model.confusion_interval(0.95)
print(f"annotator {model.annotators_[best]}")
for c, name in enumerate(model.classes_):
    print(
        f"{name:>16}: right with probability {model.confusion_[best, c, c]:.2f} "
        f"({low[best, c, c]:.2f} to {high[best, c, c]:.2f})"
    )

# %% Where an expert helps most
# The expert looks at the forty items of which the model is least sure. What they say
# is gold: it goes into the fit, and teaches about the people who answered them.
unsure = model.label_proba_.max(1).argsort()[:40]
known = {labels.items[n]: crowd.classes[crowd.truth[n]] for n in unsure}
with_gold = wc.BCC().fit(labels, gold=known)
for name, fitted in {"the crowd alone": model, "and the expert": with_gold}.items():
    n_wrong = (fitted.label_proba_.argmax(1) != crowd.truth).sum()
    print(f"{name:>15}: {n_wrong} of {len(labels.items)} labels are wrong")

# %% Keep it, and use it tomorrow
# A new item that three people have answered, one of whom we have never met.
with tempfile.TemporaryDirectory() as folder:
    wc.save(model, folder)
    loaded = wc.load(folder)
tomorrow = {"new": {int(model.annotators_[best]): "chirp", 7: "chirp", 99: "blip"}}
proba = loaded.predict_proba(tomorrow)[0]
print(dict(zip(loaded.classes_.tolist(), proba.round(3).tolist(), strict=True)))
