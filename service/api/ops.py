"""For operators: is it alive, is it ready, how does it do."""

import prometheus_client
from prometheus_client import CollectorRegistry, multiprocess
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.api.house import house_of
from service.api.http import Endpoint, error_response, reply
from service.metrics import shared_directory
from service.storage.database import Unavailable


class Alive(Endpoint):
    """`/livez`: the process answers."""

    async def get(self, _request: Request) -> Response:
        return reply({"status": "alive"})


class IsReady(Endpoint):
    """`/readyz`: it can store; Redis away is a blemish, not an end."""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        try:
            await house.database.ping()
        except Unavailable as error:
            return error_response(error)
        return reply({"status": "ready", "bus": "up" if house.bus.connected else "down"})


class Metrics(Endpoint):
    """`/metrics` in Prometheus's text format, over all workers of this server."""

    async def get(self, _request: Request) -> Response:
        registry = prometheus_client.REGISTRY
        if shared_directory() is not None:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return Response(
            prometheus_client.generate_latest(registry),
            media_type=prometheus_client.CONTENT_TYPE_LATEST,
        )


routes = [Route("/livez", Alive), Route("/readyz", IsReady), Route("/metrics", Metrics)]
