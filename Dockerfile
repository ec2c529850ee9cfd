# syntax=docker/dockerfile:1

FROM python:3.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# The compiler is for the solver's C twins, which are optional; it stays in this stage.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src

# What changes seldom first: the locked packages, by hash.
RUN python -m venv /opt/samedeal
COPY requirements.lock requirements-build.lock ./
RUN python -m pip install --require-hashes -r requirements-build.lock \
 && /opt/samedeal/bin/python -m pip install --require-hashes -r requirements.lock

COPY pyproject.toml setup.py README.md ./
COPY service ./service
COPY migrations ./migrations
COPY seeds ./seeds
RUN python -m pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /dist . \
 && /opt/samedeal/bin/python -m pip install --no-deps --no-index /dist/*.whl \
 && /opt/samedeal/bin/python -m pip uninstall --yes pip


FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin samedeal \
 && install -d -o samedeal -g samedeal /data
COPY --from=build /opt/samedeal /opt/samedeal
ENV PATH=/opt/samedeal/bin:$PATH PYTHONUNBUFFERED=1

USER samedeal
WORKDIR /data
# Only used without SAMEDEAL_DATABASE_URL, for SQLite.
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --start-interval=1s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
ENTRYPOINT ["samedeal"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--data-dir", "/data"]
