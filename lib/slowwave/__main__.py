"""``python -m slowwave`` is the ``slowwave`` command."""

import sys

from slowwave.cli import main

sys.exit(main())
