"""Tables in files, read batch by batch."""

from selfpaced.tables.files.file import without_views
from selfpaced.tables.files.reader import Reader
from selfpaced.tables.files.streamed import StreamedBatch, StreamedTable
