"""`selfpaced inspect` and `selfpaced export`: what a model file holds, and the model as an ONNX graph."""

import json
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from selfpaced.cli.opening import check_output
from selfpaced.cli.output import Talk, recipe_table, records
from selfpaced.exceptions import TableError
from selfpaced.onnx_export import export_onnx
from selfpaced.persistence import ModelCard, TrainingRecord, card_as_markdown, id_of_file, load_ensemble, read_card
from selfpaced.report import html
from selfpaced.storage import write_whole

IN_FULL = ("threshold", "best_threshold")  # a rounded threshold would give other alerts


def run(options: Namespace) -> None:
    talk = Talk(options)
    card, id = read_card(options.model), id_of_file(options.model)
    if options.evaluation is not None and options.card is None:
        raise TableError("--evaluation is for the model card. Name its file: --card card.md.")
    if options.card is not None:
        output = check_output(options.card, [".md"])
        evaluation = None if options.evaluation is None else _evaluation(options.evaluation)
        write_whole(output, card_as_markdown(card, id, evaluation))
        talk.say(f"The model card is in {output}.")
        talk.result({"output": str(output), "id": id})
        return
    n_blended = sum(one.weight > 0 for one in card.recipes)
    made_of = f"{n_blended} of {len(card.recipes)} recipes" if card.recipes else card.base_model
    talk.headline(f"{card.kind} of {made_of}")
    counts = ", ".join(f"{count:,} of {label!r}" for label, count in zip(card.classes, card.class_counts, strict=True))
    features = card.feature_names or [f"{card.n_features} without names"]
    facts = {
        "id": id,
        "written": card.created_at,
        **_recorded(card.record or TrainingRecord(None)),
        # The training rows of a model that was trained elsewhere are not known.
        "trained on" if card.rounds or card.recipes else "adopted with": counts,
        "snapshot": card.snapshot or "",
        "to find": repr(card.pos_label if card.pos_label is not None else card.minority_class),
        "target": card.target or "",
        "features": ", ".join(features),
        **{name: str(value) if name in IN_FULL else _short(value) for name, value in card.metrics.items()},
        "reference": _reference(card),
        "made with": ", ".join(f"{name} {version}" for name, version in card.versions.items()),
        "notes": card.notes or "",
    }
    talk.say("\n".join(f"{name:<12} {value}" for name, value in facts.items() if value))
    if card.rounds or card.recipes:
        talk.say()
        talk.say(recipe_table(card.recipes) if card.recipes else records(ROUND_COLUMNS, card.rounds))
    talk.result({"id": id, **asdict(card)})


def _recorded(record: TrainingRecord) -> dict[str, str]:
    """The record of the training in short lines."""
    data, facts = record.data, {"author": record.author or "", "command": record.command or ""}
    if data is not None:
        span = "" if data.first is None else f", from {data.first} to {data.last}"
        facts["data"] = f"{', '.join(data.sources)}: {data.n_rows:,} rows, {len(data.columns)} columns{span}"
        facts["digest"] = data.digest or "none, because rows on a cluster are not hashed"
    else:
        facts["data"] = "not recorded: saved from Python, or by an earlier version"
    if record.promotions:
        last = record.promotions[-1]
        figures = f"{last.goal} from {last.old:.4g} to {last.new:.4g}{'' if last.if_better else ', not required'}"
        facts["replaced"] = f"{last.replaced} ({figures}); {len(record.promotions)} in all"
    return facts


def _evaluation(path: str) -> dict[str, Any]:
    """What `evaluate --json` printed. Other files are refused."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(found, dict) or "aucprc" not in found:
        raise TableError(f"{path} is not the output of `selfpaced evaluate MODEL DATA --json`.")
    return found


def _reference(card: ModelCard) -> str:
    """The reference in the file, which monitoring needs."""
    kept = card.reference
    return "none" if kept is None else f"counts of {kept.n_rows:,} held-out rows in {len(kept.features)} columns"


ROUND_COLUMNS: html.Columns = {
    "round": ("number", str),
    "rows": ("n_rows", html.whole),
    "alpha": ("alpha", "{:.3g}".format),
    "seconds": ("seconds", "{:.2f}".format),
}


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} ({_short(one)})" for name, one in value.items())
    if value is None:
        return ""
    if isinstance(value, list):  # of texts, such as warnings; or of the two ends of an interval
        return (" " if all(isinstance(one, str) for one in value) else " to ").join(map(_short, value))
    return str(value)


def run_export(options: Namespace) -> None:
    talk = Talk(options)
    output = check_output(options.output, [".onnx"])
    export_onnx(load_ensemble(options.model), output)
    talk.say(f"The ONNX graph is in {output}. Its input is X, its outputs are label and probabilities.")
    talk.result({"output": str(output)})
