"""A classifier from features and the answers of a crowd: digits and five annotators.

Run it as a script, or cell by cell in an editor that supports ``# %%``. It takes some
seconds, mostly for compilation, and needs no file.
"""

# %% Digits that five annotators have classified
# Three of them are careful, one guesses, and one is wrong on purpose.
import tempfile

import numpy as np

import wisecrowd as wc
from wisecrowd import metrics

digits = wc.datasets.load_digits_crowd()
print(digits)

# %% Labels, skills and a classifier, learned together
# Twenty inducing points and a few passes are enough for a first look.
model = wc.SVGPCR(n_inducing=20, max_epochs=30, random_state=0)
model.fit(digits.X, digits.answers)
votes = wc.MajorityVote().fit(digits.answers)
truth = digits.gold.to_numpy()
for name, fitted in {"majority vote": votes, "SVGPCR": model}.items():
    n_wrong = (fitted.labels_ != truth).sum()
    print(f"{name:>13}: {n_wrong} of {len(truth)} training labels are wrong")

# %% The annotators
columns = ["annotator", "accuracy", "low", "high", "spammer", "adversarial"]
print(model.annotator_summary()[columns].round(2).to_string(index=False))

# %% The course of the fit: the bound and its terms
terms = ["bound", "answers", "features", "entropy", "kl_gp", "kl_annotators"]
print(model.trace_[terms].iloc[[0, -1]].round(0).to_string())

# %% New digits, without answers
proba = model.predict_proba(digits.X_test)
print(f"accuracy {metrics.accuracy(digits.gold_test, proba):.3f}")
print(f"log loss {metrics.log_loss(digits.gold_test, proba):.3f}")

# %% A new digit with one answer
# We take the digit whose prediction is least certain. One answer helps, no matter
# whether the best annotator gives it or the adversary, who is never right.
hard = int(proba.max(1).argmin())
best, adversary = model.annotators_[0], model.annotators_[4]
digit = int(digits.gold_test[hard])
said_by_adversary = int(model.confusion_[4, digit].argmax())
for who, said in [(best, digit), (adversary, said_by_adversary)]:
    answer = {0: {int(who): said}}
    after = model.predict_proba(digits.X_test[[hard]], annotations=answer)[0]
    print(
        f"a {digit}: probability {proba[hard, digit]:.2f}, and {after[digit]:.2f} when "
        f"annotator {who} answers {said}"
    )

# %% Save the model, and load it again
with tempfile.TemporaryDirectory() as folder:
    wc.save(model, folder)
    loaded = wc.load(folder)
assert np.array_equal(loaded.predict_proba(digits.X_test), proba)
