"""
Text, word by word
==================

For text the best simple model is linear: a number for every word, weighted by how rare it is. The
vocabulary has no end, so that words are hashed to a number of columns that is fixed. Then the model
can learn from a stream of texts, take classes as they come, and unlearn a text.

**Data.** The docstrings of NumPy, SciPy and scikit-learn as they are installed here. Which of the
packages is a paragraph from? The names of the packages are cut out.
"""

# %%
# Paragraphs
# ----------

import ast
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy
import sklearn
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import RidgeClassifier

from greville import LinearClassifier

NAMES = re.compile(r"\b(numpy|np|scipy|sklearn|scikit|learn)\b", re.IGNORECASE)


def paragraphs(package):
    """The longer paragraphs of the docstrings of a package."""
    for path in sorted(Path(package.__file__).parent.rglob("*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                for text in (ast.get_docstring(node) or "").split("\n\n"):
                    if len(text) > 200:
                        yield NAMES.sub(" ", text)


rng = np.random.default_rng(0)
texts, y = [], []
for package in (np, scipy, sklearn):
    found = sorted(set(paragraphs(package)))
    chosen = rng.permutation(len(found))[:1000]
    texts += [found[i] for i in chosen]
    y += [package.__name__] * len(chosen)
order = rng.permutation(len(texts))
texts, y = [texts[i] for i in order], np.array(y)[order]
n = 2 * len(texts) // 3

# %%
# As a stream
# -----------
# 2,048 columns: a model has the memory of that many squared, whatever the number of texts.

words = HashingVectorizer(n_features=2048, alternate_sign=False)
X = words.transform(texts)
model, curve = LinearClassifier(), []
for start in range(0, n, 200):
    stop = min(n, start + 200)
    model.partial_fit(X[start:stop], y[start:stop])
    curve.append((stop, 100 * model.score(X[n:], y[n:])))
ridge = RidgeClassifier().fit(X[:n], y[:n])
print(f"greville, text by text    {curve[-1][1]:.1f} % right")
print(f"RidgeClassifier, at once  {100 * ridge.score(X[n:], y[n:]):.1f} % right")

# %%
# Without some texts
# ------------------
# An author withdraws 50 of the texts: the model is as if it had never seen them.

before = model.decision_function(X[n:])
model.unlearn(X[:50], y[:50])
effect = np.abs(model.decision_function(X[n:]) - before).max()
print(f"the largest effect of 50 texts: {effect:.3f}")

plt.plot(*zip(*curve, strict=True), marker="o")
plt.xlabel("texts learned")
plt.ylabel("right, %")
plt.title("which package is a paragraph from?")
plt.show()
