"""What all tests share."""

import os

from hypothesis import HealthCheck, settings

# The tests of the pool fill one of their own; everybody else's servers leave the processors alone.
os.environ["SAMEDEAL_POOL"] = "0"

# A busy machine is no fault: no example is timed, and the same ones are tried everywhere.
settings.register_profile(
    "samedeal", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("samedeal")

pytest_plugins = ["tests.servers", "tests.databases", "tests.serving"]
