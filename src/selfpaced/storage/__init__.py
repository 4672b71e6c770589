"""Files that are remote, whole, private or safe to load."""

from selfpaced.storage.archive import (
    TRUSTED,
    UnknownTypeError,
    differences,
    dumped,
    import_skops,
    loaded,
    opened,
    part_of,
    versions_for,
    versions_of,
)
from selfpaced.storage.files import (
    PrivateFolder,
    TemporaryFolder,
    lock_file,
    private_folder,
    remove_stale,
    whole_file,
    write_whole,
)
from selfpaced.storage.remote import (
    AnyPath,
    Place,
    RemoteFile,
    content_of,
    downloaded,
    explaining,
    fingerprint,
    is_local,
    is_url,
    located,
    patiently,
    pause_after,
    refuse_unreachable,
    shown,
    state_of,
)
