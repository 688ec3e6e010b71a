"""``python -m dpauto`` is the ``dpauto`` command."""

import sys

from dpauto.cli import main

if __name__ == "__main__":
    sys.exit(main())
