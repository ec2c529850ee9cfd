"""What pyproject.toml cannot say: packages from outside `service/`, and extensions that may fail.

`migrations/` and `seeds/` lie beside `service/` and are shipped as `service.migrations` and
`service.seeds`, so that `importlib.resources.files("service.migrations")` finds them alike in a
work tree (installed with `-e`) and in a wheel.
"""

import sysconfig
from pathlib import Path

from setuptools import Extension, find_namespace_packages, setup

ROOT = Path(__file__).parent

# One wheel for every CPython from here on; free-threaded builds have no stable ABI yet.
STABLE_ABI = "cp311" if not sysconfig.get_config_var("Py_GIL_DISABLED") else None


def packages() -> dict[str, str]:
    """Package name to its folder. Folders without a module count too: they may hold only data."""
    found = {"service": "service"}
    for name, folder in (
        ("service", "service"),
        ("service.migrations", "migrations"),
        ("service.seeds", "seeds"),
    ):
        if (ROOT / folder).is_dir():
            found[name] = folder
            for inner in find_namespace_packages(str(ROOT / folder), exclude=["*__pycache__*"]):
                found[f"{name}.{inner}"] = f"{folder}/{inner.replace('.', '/')}"
    return found


def extensions() -> list[Extension]:
    """The solver's twins in C: skipped when not there, and when they cannot be compiled here."""
    sources = [
        f"service/solver/{name}.c"
        for name in ("_kings_way", "_royal_mullein")
        if (ROOT / f"service/solver/{name}.c").is_file()
    ]
    return [
        Extension(
            source.removesuffix(".c").replace("/", "."),
            [source],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else [],
            py_limited_api=STABLE_ABI is not None,
            optional=True,
        )
        for source in sources
    ]


PACKAGES = packages()

setup(
    packages=list(PACKAGES),
    package_dir=PACKAGES,
    package_data={"": ["*"]},
    exclude_package_data={"": ["*.c", "*.h", "*.o", "*.so", "*.pyc"]},
    ext_modules=extensions(),
    options={"bdist_wheel": {"py_limited_api": STABLE_ABI}} if STABLE_ABI else {},
)
