"""
Intents of a chat bot that grow class by class
==============================================

A chat bot knows some intents ("transfer money", "book a flight"), and every month it gets new
ones. The usual way is to keep all sentences and to train again. Here the model learns the new
intents alone: no old sentence is needed, and the old intents are not forgotten.

A sentence comes in as the numbers that a frozen encoder makes of it. Any encoder will do; with
`sentence-transformers <https://sbert.net>`_, for instance, it is two lines::

    encoder = SentenceTransformer("all-MiniLM-L6-v2")
    X = encoder.encode(sentences, normalize_embeddings=True)

**Data.** If the environment variable ``GREVILLE_DATA`` names a folder with
``clinc/clinc150-minilm.npz``, these are sentences of CLINC150 (Larson et al. 2019, CC BY 3.0) as
all-MiniLM-L6-v2 encodes them, of which the example takes 60 intents. That file does not ship with
the library. Without it the example **generates** embeddings: a random direction for each of 60
intents, noise around it, and length one. Generated embeddings say nothing about how good an encoder
is. What the example shows is the same: new intents are learned, and old ones are not forgotten.
"""

# %%
# Sentences as vectors
# --------------------

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier

from greville import ELMClassifier, RandomLayer

rng = np.random.default_rng(0)
file = Path(os.environ.get("GREVILLE_DATA", "")) / "clinc" / "clinc150-minilm.npz"


def generated(intents, n_each, directions):
    """Embeddings of length one around the direction of their intent."""
    y = np.repeat(intents, n_each)
    X = directions[y] + 0.17 * rng.normal(size=(len(y), directions.shape[1]))
    return X / np.sqrt((X**2).sum(axis=1, keepdims=True)), y


if "GREVILLE_DATA" in os.environ and file.exists():
    source = "sentences of CLINC150"
    with np.load(file) as data:
        X, y, X_test, y_test = (data[name] for name in ("train", "train_y", "test", "test_y"))
    intents = rng.permutation(np.unique(y))[:60]
    train, test = np.isin(y, intents), np.isin(y_test, intents)
    X, y = X[train].astype(float), y[train]
    X_test, y_test = X_test[test].astype(float), y_test[test]
else:
    source = "generated embeddings"
    directions = rng.normal(size=(60, 128))
    directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
    intents = rng.permutation(60)
    X, y = generated(np.arange(60), 60, directions)
    X_test, y_test = generated(np.arange(60), 20, directions)
print(f"{source}: {len(y)} to learn, {len(y_test)} to test, {X.shape[1]} numbers each")

# %%
# Six months, ten new intents in each
# -----------------------------------
# ``partial_fit`` gets the sentences of the new intents only; classes need not be announced. Next to
# it stands ``SGDClassifier.partial_fit`` of scikit-learn, which keeps no sentences either.
# Every month both are tested on all intents so far.

groups = np.split(intents, 6)
model = ELMClassifier(RandomLayer(500, activation="relu", weights="normal"), random_state=0)
sgd = SGDClassifier(loss="log_loss", random_state=0)
ours, theirs, first_group = [], [], []
for month, group in enumerate(groups, 1):
    new = np.flatnonzero(np.isin(y, group))
    rng.shuffle(new)
    model.partial_fit(X[new], y[new])
    sgd.partial_fit(X[new], y[new], classes=np.unique(y))

    so_far = np.isin(y_test, np.concatenate(groups[:month]))
    ours.append(model.score(X_test[so_far], y_test[so_far]))
    theirs.append(sgd.score(X_test[so_far], y_test[so_far]))
    oldest = np.isin(y_test, groups[0])
    first_group.append(model.score(X_test[oldest], y_test[oldest]))
    print(
        f"month {month}: {10 * month} intents, greville {100 * ours[-1]:.1f} %, "
        f"SGD {100 * theirs[-1]:.1f} %"
    )

# %%
# The same as if all had come at once
# -----------------------------------
# A model that gets all sentences in one call differs only by the ridge that is chosen on the way.
# Logistic regression on all sentences is the usual way; it needs all of them, every month.

at_once = ELMClassifier(RandomLayer(500, activation="relu", weights="normal"), random_state=0).fit(
    X, y
)
logistic = LogisticRegression(C=10, max_iter=200).fit(X, y)
scores = {
    "greville, six months": ours[-1],
    "greville, at once": at_once.score(X_test, y_test),
    "logistic regression, at once": logistic.score(X_test, y_test),
    "SGD, six months": theirs[-1],
}
for name, score in scores.items():
    print(f"{name:30} {100 * score:5.1f} %")

# %%
# The picture
# -----------

months = np.arange(1, 7)
figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
axes.plot(months, 100 * np.array(ours), "o-", color="#0072B2", lw=2.5, label="greville")
axes.plot(
    months,
    100 * np.array(first_group),
    "s--",
    color="#56B4E9",
    lw=2,
    label="greville, the ten oldest intents",
)
axes.plot(months, 100 * np.array(theirs), "v:", color="#D55E00", lw=2.5, label="SGDClassifier")
axes.plot(
    6,
    100 * scores["logistic regression, at once"],
    "*",
    color="k",
    ms=14,
    label="logistic regression, all at once",
)
axes.set(
    xlabel="month (ten new intents in each)",
    ylabel="accuracy on all intents so far (%)",
    xticks=months,
    ylim=(0, 104),
)
axes.set_title(source)
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()
