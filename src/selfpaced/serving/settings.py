"""The options of a service."""

import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from selfpaced.exceptions import TableError


@dataclass(frozen=True)
class Settings:
    """What is served, where, and within which limits. It can be sent to worker processes."""

    model: Path
    host: str = "127.0.0.1"
    port: int = 8000  # 0 for any free port
    workers: int = 1
    token: str | None = None
    threshold: float | None = None  # None for the threshold of the model's card
    decide: str | None = None
    shadow: Path | None = None
    state: Path | None = None
    log: Path | None = None
    log_also: Sequence[str] = ()
    log_without: Sequence[str] = ()
    most_bytes: int = 2**24  # of a body
    most_rows: int = 10_000  # of a batch
    most_requests: int = 256  # at the same time, in one process
    seconds: float = 30.0  # for a request, and for those that are under way when the service ends

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.token is None and not self.is_local:
            raise TableError(
                f"--host {self.host} lets other machines in, so requests need a token. Put one into the environment "
                "variable SELFPACED_TOKEN, or into a file: --token-file FILE."
            )
        if not 0 <= self.port < 2**16:
            raise TableError(f"--port must be a number from 0 to 65535; got {self.port}.")
        for name in ("workers", "most_bytes", "most_rows", "most_requests", "seconds"):
            if not getattr(self, name) > 0:
                raise TableError(f"--{name.replace('_', '-')} must be positive; got {getattr(self, name)}.")
        if self.state is not None and self.workers > 1:
            raise TableError("One process keeps the state of a history. Omit --workers, or --state.")
        if self.log is None and (self.log_also or self.log_without):
            raise TableError("--log-also and --log-without are about the log. Name its folder: --log FOLDER.")

    @property
    def is_local(self) -> bool:
        """
        >>> [Settings(Path("m"), host).is_local for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "example")]
        [True, True, True, False, False]
        """
        with suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host == "localhost"
