"""The features of a history by the obvious way: every row looks at every other row."""

import numpy as np

from selfpaced.history import History

SECOND = 10**6  # ticks


def name_of(entity):
    return entity if isinstance(entity, str) else "+".join(entity)


def value_of(row, entity):
    """The value of a column, or of several; None if one of them is missing."""
    if isinstance(entity, str):
        return row[entity]
    values = tuple(row[column] for column in entity)
    return None if None in values else values


def slow_features(history: History, asked: list[dict], past: list[dict] = ()) -> dict[str, np.ndarray]:
    """Rows are dictionaries, with the time as ticks in `ticks`, and the label 0, 1 or None in `label`."""
    found = {name: [] for name in history.feature_names}
    for row in asked:
        features = {}
        for entity, others in history.distinct:
            own = value_of(row, entity)
            if own is not None:
                mine = [other for other in (*past, *asked) if value_of(other, entity) == own]
                features |= {f"{name_of(entity)}_{key}": value for key, value in _of(history, row, mine, others)}
        for name, values in found.items():
            values.append(features.get(name, np.nan))
    return {name: np.array(values, dtype=np.float32) for name, values in found.items()}


def _of(history, row, mine, others):
    now, scale = row["ticks"], 10**history.decimals
    earlier = [each for each in mine if each["ticks"] < now]
    for window, span in zip(history.windows, history.window_ticks, strict=True):
        inside = [each for each in earlier if each["ticks"] >= now - span]
        yield f"rows_{window}", len(inside)
        for other in others:
            values = {value_of(each, other) for each in inside} - {None}
            yield f"distinct_{name_of(other)}_{window}", len(values)
        if history.amount_column:
            amounts = [each[history.amount_column] for each in (*inside, row)]
            *units, this = [None if amount is None else round(amount * scale) for amount in amounts]
            units = [each for each in units if each is not None]
            total, n = sum(units), len(units)
            yield f"sum_{window}", total / scale
            if n:
                whole, rest = divmod(total, n)
                squares = sum((each - whole) ** 2 for each in units)
                yield f"mean_{window}", total / (n * scale)
                yield f"max_{window}", max(units) / scale
                yield f"std_{window}", ((squares - rest**2 / n) / n) ** 0.5 / scale
                if this is not None and total:
                    yield f"ratio_{window}", this * n / total
        if history.delay is not None:
            until = now - history.delay_ticks
            labels = [each["label"] for each in earlier if until - span <= each["ticks"] <= until]
            known, rare = len(labels) - labels.count(None), labels.count(1)
            yield f"known_{window}", known
            yield f"rare_{window}", rare
            share = (rare + history.smoothing * history.base_rate) / (known + history.smoothing)
            yield f"share_{window}", share
    recent = [each for each in earlier if each["ticks"] >= now - max(history.window_ticks)]
    if recent:
        yield "since", (now - max(each["ticks"] for each in recent)) / SECOND
    for other in others:
        if value_of(row, other) is not None:
            seen = any(value_of(each, other) == value_of(row, other) for each in recent)
            yield f"seen_{name_of(other)}", float(seen)
