"""From finished cells to pages: Markdown with tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from paper.datasets import DATASETS
from paper.experiments import EXPERIMENTS
from paper.experiments.real_world import MORE_MODELS
from paper.render.page import Frames, Page
from paper.render.pages import PAGES
from paper.render.scorecard import as_markdown
from paper.results import Results

LARGE = [name for name, dataset in DATASETS.items() if dataset.published_name in MORE_MODELS]
HEAD = """\
# The paper's experiments, run again

Every table and figure of *Self-paced Ensemble for Highly Imbalanced Massive Data Classification* (Liu et al., ICDE
2020) with our implementation, the published figures beside ours.

## Scorecard

"SPE best" counts comparisons in which no other method has a higher mean over the runs that all of them have, among
those in which we have all methods of the paper; means are compared as printed, with three digits. "Reaches" counts
cells of SPE whose mean is not below the published one by more than one standard deviation. The last two columns are
the mean differences of all cells: where SPE's is near 0 and the others' is far above it, SPE is as good as
published and its rivals are better than published. Each page says under which scores the published figures of the
rivals do fit. Cells of slow methods have fewer runs; their tables say how many. Where the rows are not the paper's,
who is best is counted, and figures are not compared.

"""
QUICK = """\
> A quick pass: one run on small parts of the data. It shows that everything works; its figures do not compare with the
> published ones.

"""
TAIL = """
## How it was made

`python -m paper run` runs what is missing, `python -m paper render` writes these pages from the rows in `results/`,
which also hold versions, seconds and the number of training rows of every cell. `python -m paper run --quick` is a pass
of minutes over small parts of the data. `python -m paper list` says how much is left.

{took}

**Data sets.** Two files of the paper could not be had: Payment Simulation and Record Linkage. "PaySim, simulated again"
and "FEBRL pairs" stand for them, and their figures are labelled so. If you have the published files, put them into one
folder and run `python -m paper run --data FOLDER && python -m paper render`. The runs then use the published rows, and
the pages say so. The files are `PS_20174392719_1491204439457_log.csv` and `block_1.csv` to `block_10.csv`.
`kddcup.data.gz`, the full file of KDD Cup 99, takes the place of its 10% file in the same way.

The published standard deviations are mostly smaller than what another split of the data alone brings about: the paper
seems to repeat its methods on one split. Ours are over splits.
"""


def render(results: Path, folder: Path, *, quick: bool = False) -> Iterator[Path]:
    """Write a page for every table and figure that has results, and the front page; give their paths."""
    frames = {name: Results(experiment, results).frame() for name, experiment in EXPERIMENTS.items()}
    ready = [page for page in PAGES if all(len(frames[name]) for name in page.needs)]
    for page in ready:
        text = page.text(frames, folder).strip()
        yield _write(folder / f"{page.name}.md", f"# {page.title}\n\n{QUICK if quick else ''}{text}")
    yield _write(folder / "README.md", (QUICK if quick else "") + _front(ready, frames, results))


def _front(pages: list[Page], frames: Frames, results: Path) -> str:
    scores = [score for page in pages for score in page.scores(frames)]
    tail = TAIL.format(took=_took(frames))
    links = "\n".join(f"- [{page.title}]({page.name}.md)" for page in pages)
    return f"{HEAD}{as_markdown(scores)}\n\n## Tables and figures\n\n{links}\n{_failures(results)}{tail}".strip()


def _took(frames: Frames) -> str:
    """How long the finished cells took, as a measure for who wants to run them."""
    cells = [
        frame.drop_duplicates([*EXPERIMENTS[name].grid, "run"]) for name, frame in frames.items() if "seconds" in frame
    ]
    every = pd.concat(cells)
    of_large = every["dataset"].isin(LARGE) if "dataset" in every else []
    return (
        f"The {len(every):,} cells took {every['seconds'].sum() / 3600:.1f} hours, one core each; "
        f"{every['seconds'][of_large].sum() / 3600:.1f} of these are on payments and record pairs. Cells run side by "
        "side, one a core. Other programs used the same machine, so a quiet one takes less."
    )


def _failures(results: Path) -> str:
    """Cells that failed, with their reasons: a table must not hide them behind a dash."""
    failed = [Results(experiment, results).failures() for experiment in EXPERIMENTS.values()]
    lines = [
        f"- {', '.join(str(value) for value in row[:-1])}: {row[-1]}"
        for rows in failed
        if len(rows)
        for row in _settings_and_error(rows)
    ]
    return "\n## Failed cells\n\n" + "\n".join(lines) + "\n" if lines else ""


def _settings_and_error(rows: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    settings = list(rows.columns[: rows.columns.get_loc("run") + 1])
    return rows[[*settings, "error"]].itertuples(index=False, name=None)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")
    return path
