"""`selfpaced export`"""

from __future__ import annotations

from argparse import Namespace

from selfpaced.cli.data.opening import check_output
from selfpaced.cli.output import Talk
from selfpaced.onnx_export import export_onnx
from selfpaced.persistence import load_ensemble


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = check_output(options.output, [".onnx"])
    export_onnx(load_ensemble(options.model), output)
    talk.say(f"The ONNX graph is in {output}. Its input is X, its outputs are label and probabilities.")
    talk.result({"output": str(output)})
