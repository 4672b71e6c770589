"""`selfpaced report`"""

from __future__ import annotations

from argparse import Namespace

from selfpaced._jobs.report import ReportRequest, report_of_file
from selfpaced.cli.data import check_output, data_in, what_is_done
from selfpaced.cli.talk import Talk
from selfpaced.persistence import load_ensemble, read_card


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = check_output(options.output, [".html"])
    facts = None if options.facts is None else check_output(options.facts, [".json"])
    model = load_ensemble(options.model)
    with talk.progress(what_is_done(options, "scoring")) as progress:
        known = (options.target, options.id, options.rule, options.amount, options.time_column, options.decide)
        request = ReportRequest(*known, read_card(options.model).reference)
        report = report_of_file(model, data_in(options), request, progress)
    report.save(output)
    if facts is not None:
        report.save(facts)
    talk.say(f"The report is in {output}.")
    thresholds = report.facts.thresholds
    talk.result(
        {
            "output": str(output),
            "facts": None if facts is None else str(facts),
            "threshold": thresholds.values[thresholds.suggested],
            "rule": None if thresholds.chosen is None else thresholds.chosen.rule,
        }
    )
