"""A bucket of S3 on this machine, for the exam."""

import pytest

from tests.servers import S3Server


@pytest.fixture(scope="module")
def bucket():
    """The URL of an empty bucket."""
    server = S3Server()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield "s3://bucket"
    server.stop()
