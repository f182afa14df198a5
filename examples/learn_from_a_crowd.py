"""A classifier from a crowd's answers and features: digits and five annotators.

Run it as a script, or cell by cell in an editor that knows ``# %%``. It takes some
seconds, most of them for compiling, and needs no file.
"""

# %% Digits that five people have labelled
# Three of them are careful, one guesses, and one is wrong on purpose.
import tempfile

import numpy as np

import wisecrowd as wc
from wisecrowd import metrics

digits = wc.datasets.load_digits_crowd()
print(digits)

# %% Labels, people and a classifier, learned together
# Twenty inducing points and a few passes are enough for a first look.
model = wc.SVGPCR(n_inducing=20, max_epochs=30, random_state=0)
model.fit(digits.X, digits.labels)
votes = wc.MajorityVote().fit(digits.labels)
truth = digits.gold.to_numpy()
for name, fitted in {"majority vote": votes, "SVGPCR": model}.items():
    n_wrong = (fitted.labels_ != truth).sum()
    print(f"{name:>13}: {n_wrong} of {len(truth)} training labels are wrong")

# %% Who is who
columns = ["annotator", "accuracy", "low", "high", "spammer", "adversarial"]
print(model.annotator_summary()[columns].round(2).to_string(index=False))

# %% Digits that nobody has seen
proba = model.predict_proba(digits.X_test)
print(f"accuracy {metrics.accuracy(digits.gold_test, proba):.3f}")
print(f"log loss {metrics.log_loss(digits.gold_test, proba):.3f}")

# %% A new digit that somebody has already answered
# The one of which the model is least sure. One answer of the best annotator, or of the
# adversary, who is never right: both help.
hard = int(proba.max(1).argmin())
best, adversary = model.annotators_[0], model.annotators_[4]
digit = int(digits.gold_test[hard])
said_by_adversary = int(model.confusion_[4, digit].argmax())
for who, said in [(best, digit), (adversary, said_by_adversary)]:
    answer = {0: {int(who): said}}
    after = model.predict_proba(digits.X_test[[hard]], annotations=answer)[0]
    print(
        f"a {digit}: probability {proba[hard, digit]:.2f}, and {after[digit]:.2f} when "
        f"annotator {who} says {said}"
    )

# %% Keep it, and use it tomorrow
with tempfile.TemporaryDirectory() as folder:
    wc.save(model, folder)
    loaded = wc.load(folder)
assert np.array_equal(loaded.predict_proba(digits.X_test), proba)
