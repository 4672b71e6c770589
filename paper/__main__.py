"""The paper's experiments from the command line: python -m paper list | run NAME... | render."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from paper.datasets import data_folder, unused
from paper.experiment import Experiment, Surroundings
from paper.experiments import EXPERIMENTS
from paper.results import FOLDER, Results
from paper.runner import run

QUICK_FOLDER = Path(__file__).parents[1] / ".paper"
EXAMPLES = """\
examples:
  python -m paper run --quick                        everything once, on small parts of the data: minutes
  python -m paper run checkerboard overlap           all runs of two experiments
  python -m paper run --data ~/downloads             all runs, with the paper's data sets whose files are there
  python -m paper run --only dataset=febrl-pairs     all runs on one data set
  python -m paper render                             tables and pictures from the finished cells
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except KeyboardInterrupt:
        print("\nStopped. Finished cells are kept; the same command goes on from here.", file=sys.stderr)
        return 130


def list_experiments(options: argparse.Namespace) -> int:
    """Name every experiment with its finished and wanted cells."""
    for name, experiment in experiments_for(data_folder(options.data)).items():
        wanted = {cell.key for cell in experiment.cells()}
        finished = Results(experiment, _folder(options)).finished() & wanted
        print(f"{name:26}{len(finished):5} of {len(wanted):4} cells  {experiment.title}")
    return 0


def run_experiments(options: argparse.Namespace) -> int:
    known = experiments_for(data_folder(options.data))
    experiments = [known[name] for name in options.names or known]
    only = _by_name(options.only)
    _check_known(only, experiments)
    n_failed = run(
        experiments,
        Surroundings(data_folder(options.data), options.quick),
        lambda experiment: Results(experiment, _folder(options)),
        most_runs=1 if options.quick else options.runs,
        only=only,
        jobs=options.jobs,
        say=lambda line: print(line, flush=True),
    )
    if n_failed:
        print(f"{n_failed} cells failed; their reasons stand above and in {_folder(options)}.", file=sys.stderr)
    return 1 if n_failed else 0


def render_pages(options: argparse.Namespace) -> int:
    from paper.render import render  # matplotlib takes a second to import

    if not any(_folder(options).glob("*.csv")):
        print(f"There is nothing to render in {_folder(options)}: run some experiments first.", file=sys.stderr)
        return 2
    for path in render(_folder(options), _pages(options), quick=options.quick):
        print(path)
    return 0


def experiments_for(folder: Path) -> dict[str, Experiment]:
    """All experiments, on the paper's own data sets where their files are in the folder, else on stand-ins."""
    on_request = {"dataset": unused(folder)}
    return {
        name: replace(experiment, by_request=on_request) if "dataset" in experiment.grid else experiment
        for name, experiment in EXPERIMENTS.items()
    }


def _folder(options: argparse.Namespace) -> Path:
    """Where the finished cells are. Quick ones are kept apart: they must not pass for the others."""
    if options.results:
        return Path(options.results) / "quick" if options.quick else Path(options.results)
    return QUICK_FOLDER / "results" if options.quick else FOLDER


def _pages(options: argparse.Namespace) -> Path:
    """Where the pages go: beside the project's own results, or among those of a folder that was named."""
    return _folder(options) if options.results else _folder(options).parent


def _experiment(name: str) -> str:
    if name not in EXPERIMENTS:
        raise argparse.ArgumentTypeError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}")
    return name


def _by_name(only: Sequence[str]) -> dict[str, list[str]]:
    """
    >>> _by_name(["model=DT", "model=KNN", "method=SPE"])
    {'model': ['DT', 'KNN'], 'method': ['SPE']}
    """
    chosen: dict[str, list[str]] = {}
    for pair in only:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SystemExit(f"--only takes NAME=VALUE, such as method=SPE; got {pair!r}.")
        chosen.setdefault(name, []).append(value)
    return chosen


def _check_known(only: dict[str, list[str]], experiments: Sequence[Experiment]) -> None:
    """A name or value that no experiment has would run everything, or nothing, without a word."""
    for name, values in only.items():
        known = {str(value) for experiment in experiments for value in experiment.grid.get(name, [])}
        unknown = sorted(set(values) - known)
        if not known:
            names = sorted({name for experiment in experiments for name in experiment.grid})
            raise SystemExit(f"--only: no setting is called {name!r}; there are {', '.join(names)}.")
        if unknown:
            raise SystemExit(f"--only: {name} is never {unknown[0]!r}; it is one of {', '.join(sorted(known))}.")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, not {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m paper", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="list | run | render")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--quick", action="store_true", help="one run on small parts of the data, kept in .paper/")
    shared.add_argument("--results", metavar="FOLDER", help="where finished cells are kept; default docs/paper/results")
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("--data", metavar="FOLDER", help="where the data sets are; default SELFPACED_DATA")

    listing = commands.add_parser(
        "list", parents=[shared, data], help="the experiments and how much of them is finished"
    )
    listing.set_defaults(command=list_experiments)

    running = commands.add_parser(
        "run", parents=[shared, data], help="run what is not finished of some experiments, or all"
    )
    running.add_argument("names", nargs="*", type=_experiment, metavar="NAME", help="experiments; all if none is named")
    running.add_argument("--runs", type=_positive, metavar="N", help="at most so many runs of each setting")
    running.add_argument("--only", action="append", default=[], metavar="NAME=VALUE", help="such as method=SPE")
    running.add_argument("--jobs", type=_positive, metavar="N", help="cells at a time; default one a core")
    running.set_defaults(command=run_experiments)

    rendering = commands.add_parser("render", parents=[shared], help="write the pages and pictures from finished cells")
    rendering.set_defaults(command=render_pages)
    return parser


if __name__ == "__main__":
    sys.exit(main())
