"""Tables in files, read batch by batch."""

from selfpaced.tables.files.file import LoadedFile, Needed, Reader, in_blocks, without_views
from selfpaced.tables.files.streamed import StreamedBatch, StreamedTable
