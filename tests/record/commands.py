"""The commands that use a model: options, files, mistakes."""

from pathlib import Path

from .cases import case
from .doors import command
from .printed import cells, printed
from .training import states, train, write


@case(
    "commands/predict/{arguments}",
    arguments={
        "plain": (),
        "std": ("--std",),
        "proba-of-numbers": ("--proba",),
        "as": ("--as", "guess"),
        "as-a-column": ("--as", "area"),
        "quiet": ("--quiet", "-o", "out.csv"),
    },
)
def predicts(arguments):
    """Predictions on standard output."""
    train()
    return printed("predict", "model.greville", write("few.csv", 0, 4), *arguments)


@case("commands/predict/uneven")
def predicts_other_tables():
    """Columns in another order, missing, additional, and of another kind."""
    train()
    order = Path("order.csv")
    order.write_text("garden,city,area,built,more\nTrue,Ulm,80,1999-05-05,1\n", encoding="utf-8")
    Path("less.csv").write_text("city,area\nUlm,80\n", encoding="utf-8")
    Path("text.csv").write_text(
        "city,area,built,garden\nUlm,80,1999-05-05,True\nUlm,large,1999-05-05,True\n"
    )
    Path("new.csv").write_text(
        "city,area,built,garden\nJena,80,1999-05-05,True\n", encoding="utf-8"
    )
    found = {
        name: printed("predict", "model.greville", f"{name}.csv")
        for name in ("order", "less", "text", "new")
    }
    return {**found, "skip": printed("predict", "model.greville", "text.csv", "--on-error", "skip")}


@case("commands/predict/classes")
def predicts_classes():
    """Classes with their probabilities, into a file."""
    path = write("houses.csv", state=states())
    found = {"train": printed("train", path, "-t", "state", "--hidden", "8", "--ignore", "price")}
    found["predict"] = printed("predict", "model.greville", path, "--proba", "-o", "out.csv")
    return {
        **found,
        "predicted": cells("out.csv", "prediction", "p(castle)", "p(cheap)", "p(dear)"),
    }


SCORE = {
    "plain": (),
    "json": ("--json",),
    "prequential": ("--prequential", "--json"),
}


@case("commands/score/{arguments}", arguments=SCORE)
def scores(arguments):
    """Scores of numbers, of rows that were not learned."""
    train(path=write("a.csv", 0, 70))
    return printed("score", "model.greville", write("b.csv", 70), *arguments)


@case(
    "commands/score/classes/{arguments}",
    arguments={k: SCORE[k] for k in ("plain", "json", "prequential")},
)
def scores_classes(arguments):
    """Scores of classes, of rows that were not learned."""
    path = write("a.csv", 0, 100, state=states())
    printed("train", path, "-t", "state", "--hidden", "8", "--ignore", "price", "-q")
    return printed("score", "model.greville", write("b.csv", 100, state=states()), *arguments)


@case("commands/score/no-target")
def scores_without_targets():
    """A table without the target has no score."""
    train()
    Path("less.csv").write_text("city,area\nUlm,80\n", encoding="utf-8")
    return printed("score", "model.greville", "less.csv")


@case("commands/info/{arguments}", arguments={"plain": (), "json": ("--json",)})
def informs(arguments):
    """What a model says of itself."""
    train("--solver", "dynamic")
    return printed("info", "model.greville", *arguments)


@case("commands/info/no-model")
def informs_about_no_model():
    """Files that are no models."""
    path = write("houses.csv")
    return {"table": printed("info", path), "nothing": printed("info", "nothing.greville")}


@case("commands/info/damaged")
def informs_about_a_damaged_model():
    """A file that was cut off, and one with another byte."""
    train()
    content = Path("model.greville").read_bytes()
    Path("short.greville").write_bytes(content[:-100])
    Path("other.greville").write_bytes(content[:-5] + b"\x00" + content[-4:])
    return {name: printed("info", f"{name}.greville") for name in ("short", "other")}


@case("commands/merge")
def merges():
    """Models of parts, trained alike, make the model of all rows."""
    first, second = write("a.csv", 0, 70), write("b.csv", 70)
    printed("train", first, "-t", "price", "--hidden", "8", "-o", "one.greville")
    found = {"like": printed("train", second, "--like", "one.greville", "-o", "two.greville")}
    printed("train", second, "-t", "price", "--hidden", "8", "-o", "alone.greville")
    found["merge"] = printed("merge", "one.greville", "two.greville", "-o", "both.greville")
    found["json"] = printed(
        "merge", "one.greville", "two.greville", "-o", "both.greville", "--json"
    )
    found["score"] = printed("score", "both.greville", write("houses.csv"), "--json")
    found["alone"] = printed("merge", "one.greville", "alone.greville", "-o", "wrong.greville")
    found["single"] = printed("merge", "one.greville", "-o", "wrong.greville")
    return {**found, "wrong": Path("wrong.greville").exists()}


@case("commands/unlearn")
def unlearns():
    """Rows are removed; what was not learned is refused, and the file stays."""
    train()
    found = {"unlearn": printed("unlearn", "model.greville", write("few.csv", 0, 20))}
    found["score"] = printed("score", "model.greville", "houses.csv", "--json")
    before = Path("model.greville").read_bytes()
    found["more than all"] = printed("unlearn", "model.greville", "houses.csv", "houses.csv")
    found["unchanged"] = Path("model.greville").read_bytes() == before
    found["json"] = printed(
        "unlearn", "model.greville", write("few.csv", 20, 30), "-o", "x.greville", "--json"
    )
    train("--solver", "dynamic", output="dynamic.greville")
    return {**found, "dynamic": printed("unlearn", "dynamic.greville", "few.csv")}


@case(
    "commands/help/{name}",
    name={
        name: name
        for name in (
            "check",
            "train",
            "predict",
            "score",
            "forecast",
            "stream",
            "serve",
            "info",
            "merge",
            "unlearn",
        )
    },
)
def helps(name):
    """The options of a command, by name."""
    code, out, _ = command(name, "--help")
    options = [line.split()[0].rstrip(",") for line in out.splitlines() if line.startswith("  -")]
    longer = [word for line in out.splitlines() for word in line.split() if word.startswith("--")]
    return {"exit": code, "options": sorted({w.rstrip(",.:;)") for w in (*options, *longer)})}


@case(
    "commands/greville/{arguments}",
    arguments={
        "nothing": (),
        "version": ("--version",),
        "unknown": ("learn",),
        "help": ("--help",),
    },
)
def greville(arguments):
    """The command without a command."""
    return printed(*arguments)
