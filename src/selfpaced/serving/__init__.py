"""A model behind HTTP: answers, metrics, and a log of the answered requests."""

from selfpaced.serving.lines import column_kinds
from selfpaced.serving.log import RequestLog
from selfpaced.serving.server import listening, run_app, serve
from selfpaced.serving.settings import Settings
