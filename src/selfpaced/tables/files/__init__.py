"""Tables in files, read batch by batch."""

from selfpaced.tables.files.file import Reader, without_views
from selfpaced.tables.files.streamed import StreamedBatch, StreamedTable
