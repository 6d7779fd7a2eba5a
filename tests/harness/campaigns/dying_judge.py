"""In the place of the process that judges what a dead run left: dies as well."""

import os
import signal

if __name__ == "__main__":
    os.kill(os.getpid(), signal.SIGKILL)
