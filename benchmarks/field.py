"""Claim: `AutoSelfPacedClassifier` is the best choice for rare events, over many tables and against all alternatives.

    python benchmarks/field.py [--only-table TEXT] [--only-method TEXT] [--splits N] [--list | --render]

Every method is fitted on the same 70% of a table's rows and judged by AUCPRC on the other 30%: 5 random stratified
splits of a table below 20,000 rows, 3 of a larger one. The tables are in `contest/tables.py`, the methods in
`contest/methods.py`. Each method runs alone, with 2 threads. Alternatives run in environments that are made in
`.bench/` at the first run. AutoGluon and FLAML get the time that ours took on the same rows.

Every fit is saved in `benchmarks/results/field.json` at once: a run that was stopped goes on where it was. `--render`
writes `docs/field.md` and its picture from that file. With `--most-seconds`, fits that take more processor time are
given up, and tried again only with more: networks on one core, for instance.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from contest.methods import METHODS
from contest.page import write_page
from contest.results import Results
from contest.runner import Field
from contest.tables import all_tables
from contest.threads import USUAL
from record import RESULTS
from text_table import text_table

DOCS = Path(__file__).parents[1] / "docs"


def containing(text: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if any(part in name for part in text.split(","))]


def listed(results: Results) -> str:
    """All methods and all tables, with the number of finished fits of each."""
    finished = [row for row in results.rows() if "error" not in row]
    of_methods, of_tables = (Counter(row[name] for row in finished) for name in ("method", "table"))
    methods = [[name, method.title, str(of_methods[name])] for name, method in METHODS.items()]
    tables = [[name, table.source, str(of_tables[name])] for name, table in all_tables().items()]
    return "\n\n".join(
        text_table(header, rows, words=2)
        for header, rows in ((["method", "", "fits"], methods), (["table", "source", "fits"], tables))
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only-table", default="", metavar="TEXT", help="names that contain one of these, by commas")
    parser.add_argument("--only-method", default="", metavar="TEXT", help="the same for methods")
    parser.add_argument("--except-method", default=None, metavar="TEXT", help="methods that are left out")
    parser.add_argument("--splits", type=int, metavar="N", help="at most so many splits of each table")
    parser.add_argument(
        "--threads", type=int, default=USUAL, metavar="N", help="for every method (default: %(default)s)"
    )
    parser.add_argument(
        "--most-seconds", type=float, default=0, metavar="S", help="of processor time for a fit; 0: no limit (default)"
    )
    parser.add_argument("--again", action="store_true", help="repeat fits that were timed on a busy machine")
    parser.add_argument("--results", type=Path, default=RESULTS / "field.json", metavar="FILE")
    parser.add_argument("--list", action="store_true", help="name all tables and methods, and run nothing")
    parser.add_argument("--render", action="store_true", help="write the page from what has been finished")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    results = Results(options.results)
    unwanted = containing(options.except_method, METHODS) if options.except_method else []
    methods = [name for name in containing(options.only_method, METHODS) if name not in unwanted]
    if options.list:
        print(listed(results))
    elif options.render:
        print(write_page(results.read(), methods, DOCS))
    else:
        known = all_tables()
        tables = [known[name] for name in containing(options.only_table, known)]
        Field(tables, methods, results, options.splits, options.threads, options.again, options.most_seconds).run()


if __name__ == "__main__":
    main()
