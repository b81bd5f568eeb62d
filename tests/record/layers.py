"""Hidden layers alone, and what augments images, watches errors and comes with the package."""

import numpy as np

import greville
from greville import (
    ClassLayer,
    ContrastLayer,
    ELMClassifier,
    FourierLayer,
    PatchLayer,
    RandomLayer,
    ReceptiveFieldLayer,
    StackedLayer,
    TableLayer,
    image_layer,
)
from greville.monitor import DriftMonitor

from .cases import case
from .outcome import about, attempt, few


def images(n=60, side=8, seed=0):
    """Small images of bars, and which way the bars go."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 2, n)
    place = rng.integers(1, side - 1, n)
    X = 0.2 * rng.random((n, side, side))
    for i in range(n):
        X[(i, place[i]) if which[i] else (i, slice(None), place[i])] += 1
    return X.reshape(n, -1), which


LAYERS = {
    "random": RandomLayer(6, random_state=0),
    "random-normal-bias": RandomLayer(6, weights="normal", bias=True, scale=1.0, random_state=0),
    "random-relu": RandomLayer(6, activation="relu", random_state=0),
    "random-identity": RandomLayer(6, activation="identity", random_state=0),
    "random-auto": RandomLayer(random_state=0),
    "fourier": FourierLayer(6, random_state=0),
    "fourier-gamma": FourierLayer(6, gamma=0.1, orthogonal=False, random_state=0),
    "table": TableLayer(12, random_state=0),
    "fields": ReceptiveFieldLayer((8, 8), 6, border=1, random_state=0),
    "class": ClassLayer(6, random_state=0),
    "contrast": ContrastLayer(6, random_state=0),
    "contrast-fields": ContrastLayer(6, receptive_fields=(8, 8), border=1, random_state=0),
    "patches": PatchLayer((8, 8), 4, patch=3, random_state=0),
    "stacked": StackedLayer(
        PatchLayer((8, 8), 4, patch=3, random_state=0), RandomLayer(6, random_state=0)
    ),
    "image": image_layer((8, 8), 20, n_filters=4, patch=3, random_state=0),
}


@case("layers/transform/{layer}", layer=LAYERS)
def transforms(layer):
    """Activations of images, from a layer that was fitted to others."""
    X, y = images()
    layer = layer.fit(X[:40], y[:40])
    H = layer.transform(X[40:])
    return {
        "activations": few(H, 6),
        "one row": bool(np.allclose(layer.transform(X[40:41]), H[:1])),
        "names": attempt(lambda: [str(each) for each in layer.get_feature_names_out()[:3]]),
        "repr": repr(layer),
        "summary": attempt(layer.summary),
        "float32": str(layer.transform(X[40:].astype(np.float32)).dtype),
        "narrow": attempt(layer.transform, X[:, :5]),
    }


@case(
    "layers/learn/{layer}", layer={k: LAYERS[k] for k in ("fields", "contrast", "class", "image")}
)
def learns_images(layer):
    """A classifier with the layer."""
    X, y = images()
    model = ELMClassifier(layer, random_state=0).fit(X[:40], y[:40])
    greville.save(model, "model.greville")
    same = np.array_equal(greville.load("model.greville").predict(X), model.predict(X))
    return {"score": about(model.score(X[40:], y[40:])), "same bits": same}


REFUSED = {
    "no-units": RandomLayer(0),
    "unknown-weights": RandomLayer(5, weights="heavy"),
    "unknown-activation": RandomLayer(5, activation="step"),
    "gamma": FourierLayer(5, gamma=-1.0),
    "shape": ReceptiveFieldLayer((7, 7), 5),
    "wide-border": ReceptiveFieldLayer((8, 8), 5, border=9),
    "large-patch": PatchLayer((8, 8), 4, patch=20),
    "classes-unknown": ContrastLayer(5),
}


@case("layers/refused/{layer}", layer=REFUSED)
def refuses(layer):
    """Parameters that cannot be, and labels that a layer needs."""
    X, _ = images()
    return {"fit": attempt(lambda: repr(layer.fit(X)))}


@case("layers/augment")
def augments():
    """Images that are shifted, rotated and bent at random."""
    X, _ = images(4)
    plain = greville.augment.distort(X, (8, 8), random_state=0)
    bent = greville.augment.distort(X, (8, 8), elastic=1.0, smoothness=2.0, random_state=0)
    wrong = attempt(greville.augment.distort, X, (7, 7))
    return {"distorted": few(plain, 6), "bent": few(bent, 6), "other shape": wrong}


@case("layers/datasets")
def datasets():
    """The signals of the paper."""
    found = {}
    for name, signal in {
        "ecg": greville.datasets.ecg(300),
        "sine": greville.datasets.sine_switch(300),
        "lags": greville.datasets.sine_switch(300, lags=(1, 5), change=100),
    }.items():
        found[name] = [few(each) for each in signal]
    return found


@case("layers/drift/{change}", change={"none": 0, "larger-errors": 1, "outlier": 2})
def watches_errors(change):
    """Drift alarms: none while nothing changes, one soon after a change."""
    rng = np.random.default_rng(0)
    errors = rng.normal(size=400)
    errors[200:] *= 4 if change == 1 else 1
    errors[200] *= 50 if change == 2 else 1
    monitor = DriftMonitor()
    found = monitor.update_many(errors)
    single = DriftMonitor()
    alarms = [i for i, error in enumerate(errors) if single.update(error)]
    return {
        "many": [int(each) for each in found][:5],
        "single": alarms[:5],
        "kept": [int(each) for each in monitor.alarms_][:5],
        "nan": attempt(monitor.update, np.nan),
        "rate": attempt(DriftMonitor, rate=2.0),
        "warmup": attempt(DriftMonitor, warmup=-1),
    }
