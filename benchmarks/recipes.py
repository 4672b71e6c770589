"""Claim: the recipes of `AutoSelfPacedClassifier`, and how it judges, weighs and blends them, are the best ones tried.

    python benchmarks/recipes.py [--quick] [--only-table TEXT] [--only TEXT] [--splits N] [--show]

On public tables of `contest/tables.py`, 70% of the rows of each split are for training. Every recipe, also those that
were not taken, is judged on them by the library's own cross-fitting and trained on all of them. Then several ways to
make one model of the recipes are compared by AUCPRC on the other 30%:

- recipes: each recipe alone, beside the blend;
- weightings: how much each recipe counts;
- scales: whether log-odds, probabilities or calibrated probabilities are added;
- one recipe less, one recipe more: what each recipe is worth to the blend;
- in turn: one ensemble whose members are of three kinds, beside the blend of an ensemble of each kind;
- sample: recipes judged by 30 common rows for each rare one, on the tables that have at least twice as many;
- folds: recipes judged by more folds and more members.

Figures are saved in `benchmarks/results/recipes.json` at once, and the scores of the recipes in `.bench/recipes`: a run
that was stopped goes on where it was. `--show` prints the means and runs nothing.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from statistics import fmean

from blends.comparisons import COMMON_PER_RARE_ROW, COMPARISONS, WHOLE_BLEND, Comparisons
from blends.summary import as_text, by_table, summaries
from blends.trial import trial_of
from blends.weightings import DEFAULT
from contest.results import Results
from contest.runner import facts_of
from contest.table import Data, Table
from contest.tables import all_tables
from peer_environments import BENCH
from record import RESULTS, versions_of
from text_table import text_table

TABLES = (
    "yeast4",
    "winequality-red-4",
    "flare-F",
    "car-good",
    "abalone-17_vs_7-8-9-10",
    "hypothyroid",
    "abalone19",
    "yeast5",
    "poor-white-wine",
    "stroke",
    "page-blocks-picture",
    "poker-8-9_vs_5",
    "caravan-insurance",
    "checkerboard-100",
)
QUICK_TABLES = TABLES[:2]
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "catboost", "numpy")
# The model of each comparison that is the library's.
REFERENCES = {
    "weightings": DEFAULT,
    "scales": "log-odds",
    "sample": "judged by all rows",
    "folds": "3 folds, 5 members",
}


def run(table: Table, data: Data, split: int, wanted: list[str], results: Results) -> None:
    """The comparisons of a split that have not been made yet."""
    is_large = data.imbalance >= 2 * COMMON_PER_RARE_ROW
    possible = [name for name in wanted if is_large or name != "sample"]
    left = [name for name in possible if split not in results.finished(table.name, name)]
    if not left:
        return
    comparisons = Comparisons(trial_of(data, split, table.order, BENCH / "recipes" / f"{table.name}-{split}"))
    for name in left:
        row = {"table": table.name, "method": name, "split": split} | COMPARISONS[name](comparisons)
        results.add(row, facts_of(table, data), versions_of(PACKAGES))
        print(f"{table.name}, split {split}: {name}", flush=True)


def shown(results: Results) -> str:
    rows, parts = results.rows(), []
    for name in COMPARISONS:
        tables_of = by_table(rows, name)
        if tables_of:
            reference = REFERENCES.get(name, WHOLE_BLEND)
            n_tables = len(tables_of[reference])
            parts.append(f"{name}, {n_tables} tables\n{as_text(summaries(tables_of, reference), reference)}")
    kept = by_table(rows, "weightings", "recipes_kept")
    means = [[way, f"{fmean(counts.values()):.1f}"] for way, counts in kept.items()]
    return "\n\n".join([*parts, text_table(["weighting", "recipes kept"], means)])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one split of two small tables; saves to .bench")
    parser.add_argument("--only-table", metavar="NAMES", help="other tables than the usual ones, by commas")
    parser.add_argument("--only", metavar="NAMES", help=f"some comparisons, by commas: {', '.join(COMPARISONS)}")
    parser.add_argument("--splits", type=int, default=2, metavar="N", help="of each table (default: %(default)s)")
    parser.add_argument("--results", type=Path, metavar="FILE")
    parser.add_argument("--show", action="store_true", help="print the means of what has been finished")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    usual = BENCH / "recipes-quick.json" if options.quick else RESULTS / "recipes.json"
    results = Results(options.results or usual)
    if not options.show:
        names = options.only_table.split(",") if options.only_table else QUICK_TABLES if options.quick else TABLES
        wanted = options.only.split(",") if options.only else list(COMPARISONS)
        known = all_tables()
        loaded = {name: known[name].load() for name in names}
        warnings.filterwarnings("ignore")  # members that are not quite done, and ratios above what a table has
        for split in range(1 if options.quick else options.splits):
            for name, data in loaded.items():
                run(known[name], data, split, wanted, results)
    print(shown(results))


if __name__ == "__main__":
    main()
