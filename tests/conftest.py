"""What all tests share."""

import os

# The tests of the pool fill one of their own; everybody else's servers leave the processors alone.
os.environ["SAMEDEAL_POOL"] = "0"

pytest_plugins = ["tests.servers", "tests.databases", "tests.serving"]
