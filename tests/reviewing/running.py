"""Reviews in a process of their own or in a thread, on a free port of this machine, and requests to them."""

import json
import signal
import subprocess
import sys
import threading
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import uvicorn

from selfpaced.cli.commands.review import open_queue
from selfpaced.cli.parser import parser
from selfpaced.reviewing import make_app
from selfpaced.serving import listening


def queue_of(*options):
    """The queue of a review with these options of the command."""
    return open_queue(parser().parse_args(["review", *map(str, options)]))


class Requests:
    """Requests to a review at an address that ends with its token."""

    def __init__(self, address):
        self.page = address
        self.address, _, self.token = address.partition("/#")

    def post(self, path, reviewer="Ann", **sent):
        """The status and the answer."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        request = Request(f"{self.address}/{path}", json.dumps({"reviewer": reviewer, **sent}).encode(), headers)
        try:
            with urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except HTTPError as refusal:
            with refusal:
                return refusal.code, json.load(refusal)


class InThread(Requests):
    """The application of a review, in a thread."""

    def __init__(self, *options):
        self.queue, self._bound = queue_of(*options), listening("127.0.0.1", 0)
        super().__init__(f"http://127.0.0.1:{self._bound.getsockname()[1]}/#token")
        self._server = uvicorn.Server(uvicorn.Config(make_app(self.queue, "token"), log_config=None))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._bound]})
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)

    def end(self):
        self._server.should_exit = True
        self._thread.join()
        self._bound.close()
        self.queue.file.close()


class InProcess(Requests):
    """`selfpaced review` with some options."""

    def __init__(self, *options):
        command = [sys.executable, "-m", "selfpaced", "review", *map(str, options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = ""
        while "Ctrl-C" not in said:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            said += line
        super().__init__(said.partition("Open ")[2].split()[0])

    def end(self, number=signal.SIGINT):
        """End it, as Ctrl-C does. Returns its exit code, and what it said last."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=30)
        return self.process.returncode, said
