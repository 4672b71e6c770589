"""History: what the entity of a row, such as a card or a terminal, did before it."""

from selfpaced.history.description import History, beside, check_labels, refuse_taken
from selfpaced.history.events import NO_ENTITY, Events, check_columns, read_events
from selfpaced.history.files import described_batches
from selfpaced.history.kernel import describe
from selfpaced.history.state import HistoryState, Learned

__all__ = ["History", "HistoryState"]
