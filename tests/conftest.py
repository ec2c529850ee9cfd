"""What all tests share."""

from hypothesis import HealthCheck, settings

# A busy machine is no fault: no example is timed, and the same ones are tried everywhere.
settings.register_profile(
    "samedeal", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("samedeal")

pytest_plugins = ["tests.servers", "tests.databases", "tests.serving"]
