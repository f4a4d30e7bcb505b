"""`python -m viewlet`: the command line."""

import sys

from viewlet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
