"""The model card as Markdown, with the headings that governance asks for. What is not known stays a question."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selfpaced.persistence.card import ModelCard
from selfpaced.persistence.record import Promotion, TrainingRecord

# Marks inside a line, those at its beginning, and addresses that would become links.
MARKS = re.compile(r"([\\`*_\[\]<>|~&$]|^[#+-]|:(?=//)|(?<=www)\.)")
MOST_NAMES = 50


def escaped(value: Any) -> str:
    """A name or value from outside as Markdown that shows it as it is, on one line.

    >>> print(escaped("a|b <i> [x](y)"))
    a\\|b \\<i\\> \\[x\\](y)
    """
    return MARKS.sub(r"\\\1", " ".join(str(value).split()))


def asked(question: str) -> str:
    return f"**To fill in:** {question}"


def card_as_markdown(card: ModelCard, id: str, evaluation: Mapping[str, Any] | None = None) -> str:
    """The card for people. `evaluation` is what `evaluate --json` printed, with figures by group if it has some."""
    record = card.record or TrainingRecord(None)
    parts = [
        f"# Model card: {id}",
        "The headings name the points of Annex IV of Regulation (EU) 2024/1689 (the EU AI Act) and the parts of SR "
        "11-7, the guidance on model risk management of the Federal Reserve (2011). SR 26-2 replaced it in April 2026; "
        "its parts are development and use, validation and monitoring, governance and controls. Figures and facts are "
        "from the model file. The card does not make a system compliant: whatever begins with **To fill in** is not "
        "known to the file.",
        *_general(card, record, id),
        *_development(card, record),
        *_performance(card, evaluation),
        *_control(card),
        *_changes(card, record, id),
    ]
    return "\n\n".join(parts) + "\n"


def _general(card: ModelCard, record: TrainingRecord, id: str) -> Iterable[str]:
    yield "## 1. General description and intended use (Annex IV 1; SR 11-7: development, implementation and use)"
    rare = card.pos_label if card.pos_label is not None else card.minority_class
    yield _table(
        ["", ""],
        [
            ["Model id", id],
            ["Kind", card.kind],
            ["Written", card.created_at],
            ["Author", record.author],
            ["It finds", f"{card.target or 'label'} = {rare}"],
            ["Notes", card.notes],
        ],
    )
    yield asked("What is the intended purpose, who uses the scores, and which decisions follow from an alert?")
    yield asked("For which uses is the model not meant? Which instructions do its users have?")
    yield asked(
        "How is the model delivered (file, service), on which hardware does it run, and what does it work with?"
    )


def _development(card: ModelCard, record: TrainingRecord) -> Iterable[str]:
    yield "## 2. Elements and development (Annex IV 2; SR 11-7: development, implementation and use)"
    counts = ", ".join(f"{n:,} of {label}" for label, n in zip(card.classes, card.class_counts, strict=True))
    parameters = ", ".join(f"{name}={value}" for name, value in card.parameters.items())
    yield _table(
        ["", ""],
        [
            ["Base model", card.base_model],
            ["Recipes", ", ".join(f"{one.name} (weight {one.weight:.2f})" for one in card.recipes)],
            ["Parameters", parameters],
            ["Calibration", card.metrics.get("calibration")],
            ["Command", record.command],
            ["Versions", ", ".join(f"{name} {version}" for name, version in card.versions.items())],
        ],
    )
    yield asked("Why this kind of model, with which assumptions, and what protects it against attacks (2(h))?")
    yield "### Data (Annex IV 2(d))"
    data = record.data
    names = card.feature_names
    features = f"{card.n_features} without names" if names is None else _some(names)
    rows: list[list[Any]] = [["Training rows", counts], ["Features", features], ["Snapshot", card.snapshot]]
    if data is not None:
        span = None if data.first is None else f"{data.first} to {data.last} by {data.time_column}"
        rows += [
            ["Sources", ", ".join(data.sources)],
            ["Rows of the sources", f"{data.n_rows:,}, with those that were held out"],
            ["Columns that were read", _some(sorted(data.columns))],
            ["Time span", span],
            ["Digest of the rows", data.digest],
        ]
    yield _table(["", ""], rows)
    if data is None:
        yield asked("Which rows was the model trained on? The file has no record of them.")
    elif data.first is None:
        yield asked("Which time do the rows cover?")
    yield asked("How were the rows collected and selected, and who gave the labels, how and with which errors?")
    yield asked("Do the rows contain personal data, and on which legal basis are they used?")


def _performance(card: ModelCard, evaluation: Mapping[str, Any] | None) -> Iterable[str]:
    yield "## 3. Validation and performance (Annex IV 2(g), 3 and 4; SR 11-7: validation, outcomes analysis)"
    known = card.metrics
    if known.get("aucprc") is None:
        yield asked("How good is the model on rows that it was not trained on?")
    else:
        yield f"Judged on {escaped(known.get('judged_on') or 'rows that the file does not name')}."
        yield _table(["Figure", "Value", "90% interval"], _figures(known))
    if evaluation is not None:
        yield "### On other rows"
        yield _table(["Figure", "Value", "90% interval"], _figures(evaluation))
    yield "### By group (Annex IV 3)"
    groups = (evaluation or {}).get("by_group")
    if groups is None:
        yield asked("Are the figures the same for all groups that matter? `selfpaced evaluate --by COLUMN` shows them.")
    else:
        yield f"By {escaped(groups['column'])}, with 90% intervals."
        yield _table(
            ["Group", "Rows", "Rare", "Alerts", "Precision", "Recall", "False alarm rate", "Mean score", "Rare rows"],
            [
                [
                    one["name"],
                    *(f"{one[name]:,}" for name in ("n_rows", "n_cases", "n_alerts")),
                    *(_share(one[name]) for name in ("precision", "recall", "false_alarm_rate")),
                    f"{one['mean_score']:.4f}",
                    _share(one["rare_share"]),
                ]
                for one in groups["groups"]
            ],
        )
    yield asked("Why are these measures right for the use, and which values are required?")
    yield asked("Who validated the model independently of its developers, when, and with which result?")


def _control(card: ModelCard) -> Iterable[str]:
    yield "## 4. Limits, oversight and monitoring (Annex IV 2(e), 3, 5 and 9; SR 11-7: validation, ongoing monitoring)"
    warned = [str(one) for one in card.metrics.get("warnings") or ()]
    warned += [
        f"{name} nearly determines the target alone ({figure:.3g})" for name, figure in _pairs(card, "suspicious")
    ]
    warned += [f"column {name} was dropped: {reason}" for name, reason in _pairs(card, "dropped")]
    if card.metrics.get("unmet"):
        warned.append(str(card.metrics["unmet"]))
    if warned:
        yield "The training warned of or noted:"
        yield "\n".join(f"- {escaped(one)}" for one in warned)
    reference = card.reference
    if reference is None:
        yield "The file has no reference, so drift cannot be measured by `selfpaced monitor`."
    else:
        yield f"The file has counts of {reference.n_rows:,} held-out rows, by which `selfpaced monitor` measures drift."
    yield asked("Which foreseeable errors harm whom, and how is that risk managed?")
    yield asked("Who oversees alerts, and how can a person overrule the model or stop it?")
    yield asked("How often is the model monitored, and at which limits is it withdrawn or trained again?")


def _changes(card: ModelCard, record: TrainingRecord, id: str) -> Iterable[str]:
    yield "## 5. Changes and approval (Annex IV 6, 7 and 8; SR 11-7: governance, policies and controls)"
    if not record.promotions:
        yield "The file names no model that this one replaced."
    else:
        after = [*(one.replaced for one in record.promotions[1:]), id]
        rows = [_promotion(one, new) for one, new in zip(record.promotions, after, strict=True)]
        names = ["Replaced", "Written", "By", "Goal", "Before", "After", "90% interval of the difference", "Rows"]
        yield _table([*names, "Had to be better"], rows)
    yield asked("Which standards were applied (7), and where is the declaration of conformity (8)?")
    yield asked("Who approved the model for use, and when?")


def _promotion(one: Promotion, new: str) -> list[str]:
    interval = f"{one.low:+.4g} to {one.high:+.4g}"
    return [
        one.replaced,
        one.replaced_created_at,
        new,
        one.goal,
        f"{one.old:.4g}",
        f"{one.new:.4g}",
        interval,
        f"{one.n_rows:,}",
        "yes" if one.if_better else "no",
    ]


FIGURES = {
    "n_rows": "Rows",
    "n_positives": "Rare rows",
    "aucprc": "AUCPRC",
    "chance": "AUCPRC of chance",
    "threshold": "Threshold",
    "rule": "Rule of the threshold",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "cost": "Cost",
    "mean_score": "Mean score",
}


def _figures(known: Mapping[str, Any]) -> list[list[Any]]:
    intervals = known.get("intervals") or {}
    return [
        [
            title,
            _number(name, known[name]),
            "" if name not in intervals else " to ".join(f"{one:.4g}" for one in intervals[name]),
        ]
        for name, title in FIGURES.items()
        if known.get(name) is not None
    ]


def _number(name: str, value: Any) -> str:
    if name == "threshold":
        return str(value)  # a rounded threshold would give other alerts
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


def _share(share: Mapping[str, float] | None) -> str:
    return "" if share is None else f"{share['value']:.1%} ({share['low']:.1%} to {share['high']:.1%})"


def _pairs(card: ModelCard, name: str) -> Iterable[tuple[str, Any]]:
    found = card.metrics.get(name)
    return found.items() if isinstance(found, Mapping) else ()


def _some(names: Sequence[str]) -> str:
    more = "" if len(names) <= MOST_NAMES else f" and {len(names) - MOST_NAMES:,} more"
    return f"{len(names)}: {', '.join(names[:MOST_NAMES])}{more}"


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of Markdown. Two columns are names and facts, and facts that are not known are left out."""
    shown = [row for row in rows if len(row) != 2 or row[1] not in (None, "")]
    lines = [
        list(header),
        ["---"] * len(header),
        *([escaped("" if one is None else one) for one in row] for row in shown),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
