"""Install the programs that some tests need and pip cannot install. `make system-packages` runs this.

A program that is there already is left alone. A missing one is installed with apt-get, which needs root on Debian.
Elsewhere this says what is missing and ends without an error: the tests that need the program are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from glob import glob

APT_GET = ("apt-get", "-o", "DPkg::Lock::Timeout=300")  # another process may be installing


@dataclass(frozen=True)
class Program:
    """A program, the commands it may be called by, and the Debian packages that bring it."""

    name: str
    commands: tuple[str, ...]
    packages: tuple[str, ...]
    home: str | None = None
    """The environment variable that names the folder of an installation without a command."""

    def path(self) -> str | None:
        """Where the program is, or None.

        >>> Program("Nonsense", ("no-such-command",), ()).path() is None
        True
        """
        if self.home and (folder := os.environ.get(self.home)):
            return folder
        # Debian keeps some programs out of the path, in a folder for each version.
        commands = [found for command in self.commands for found in (sorted(glob(command), reverse=True) or [command])]
        return next((path for command in commands if (path := shutil.which(command))), None)


CHROMIUM = Program("Chromium", ("chromium", "chromium-browser", "google-chrome"), ("chromium", "fonts-liberation"))
JAVA = Program("Java", ("java",), ("openjdk-17-jre-headless",), home="JAVA_HOME")
POSTGRESQL = Program("PostgreSQL", ("postgres", "/usr/lib/postgresql/*/bin/postgres"), ("postgresql",))
PROGRAMS = (CHROMIUM, JAVA, POSTGRESQL)


def main() -> None:
    missing = [program for program in PROGRAMS if program.path() is None]
    if missing and may_install():
        print(f"Installing system packages with apt-get: {packages_of(missing)}", flush=True)
        apt_get("update")
        for program in missing:  # one by one: where one is not to be had, the others still are
            apt_get("install", "--yes", "--no-install-recommends", *program.packages)
    for program in PROGRAMS:
        print(f"{program.name}: {program.path() or f'missing; as root: apt-get install {packages_of([program])}'}")


def may_install() -> bool:
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def packages_of(programs: list[Program]) -> str:
    """
    >>> packages_of([CHROMIUM, JAVA])
    'chromium fonts-liberation openjdk-17-jre-headless'
    """
    return " ".join(package for program in programs for package in program.packages)


def apt_get(*arguments: str) -> None:
    """Run apt-get; show what it says only where it fails."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run([*APT_GET, *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"apt-get {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
