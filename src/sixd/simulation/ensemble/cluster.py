"""Chunks of an ensemble on a dask cluster, or on another executor of the user."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from sixd.errors import MissingPackageError, ScalarTypeError, WorkerError
from sixd.simulation.ensemble.draws import WHERE, Draws
from sixd.simulation.ensemble.executors import distribute
from sixd.simulation.ensemble.job import ChunkResult, Job, Span, packed

if TYPE_CHECKING:
    from distributed import Client

_CONNECT = 10.0  # s, for a scheduler to answer, and for a worker to appear


def on_cluster(
    job: Job, spans: list[Span], draws: Draws, cluster: Any, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Yield the results of the chunks, in any order. ``cluster`` is an address, a ``distributed.Client``, a dask
    cluster, or an executor."""
    try:  # cloudpickle supports lambdas too; it is installed with dask
        from cloudpickle import dumps
    except ImportError:
        from pickle import dumps
    if not is_of_dask(cluster):
        yield from distribute(cluster, packed(job, dumps), spans, draws, retries)
        return
    with _client(require_distributed(), cluster) as client:
        executor = SimpleNamespace(submit=partial(client.submit, pure=False), num_workers=_threads(client, cluster))
        yield from distribute(executor, packed(job, dumps), spans, draws, retries, _worker_check(client, cluster))


def is_of_dask(cluster: Any) -> bool:
    """Return whether a cluster is one of dask; raise if it is not an executor either."""
    loaded = sys.modules.get("distributed")
    if isinstance(cluster, str) or hasattr(cluster, "scheduler_address"):
        return True
    if loaded is not None and isinstance(cluster, loaded.Client):
        return True
    if isinstance(cluster, type) or not callable(getattr(cluster, "submit", None)):
        raise ScalarTypeError(
            f"{WHERE}: cluster is {cluster!r}, expected the address 'tcp://…' of a dask scheduler, a dask Client or "
            f"cluster, or an executor: an object with submit(function, *arguments), as those of concurrent.futures."
        )
    return False


def require_distributed() -> ModuleType:
    """Return the package ``distributed``; raise with the command that installs it."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError(
            f"{WHERE}: cluster needs the package distributed, which is not installed. pip install distributed"
        ) from None
    module: ModuleType = distributed
    return module


@contextlib.contextmanager
def _client(distributed: ModuleType, cluster: Any) -> Iterator[Client]:
    """Yield a client of the cluster; close it at the end if it was made here."""
    if isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise ScalarTypeError(f"{WHERE}: cluster is an asynchronous Client, expected a plain one.")
        yield cluster
        return
    address = getattr(cluster, "scheduler_address", cluster)
    if not isinstance(address, str):
        raise ScalarTypeError(f"{WHERE}: the address of cluster {cluster!r} is {address!r}, expected 'tcp://…'.")
    try:
        client = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkerError(
            f"{WHERE}: no dask scheduler answers at {address!r}: {error}. Start one with 'dask scheduler', and workers "
            f"with 'dask worker ADDRESS'."
        ) from error
    with client:
        yield client


def _threads(client: Client, cluster: Any) -> int:
    """Return the number of chunks that the cluster can run at once."""
    if not client.nthreads():
        try:
            client.wait_for_workers(1, timeout=_CONNECT)
        except Exception as error:
            raise WorkerError(
                f"{WHERE}: the cluster {cluster!r} has no workers, expected at least one. Start some with 'dask worker "
                f"ADDRESS'."
            ) from error
    return max(1, sum(client.nthreads().values()))


def _worker_check(client: Client, cluster: Any) -> Callable[[float], None]:
    """Return a function of the time since the last check that raises if there have been no workers for too long."""
    alone = 0.0

    def check(seconds: float) -> None:
        nonlocal alone
        alone = 0.0 if client.nthreads() else alone + seconds
        if alone > _CONNECT:
            raise WorkerError(
                f"{WHERE}: the workers of the cluster {cluster!r} are gone, and none has come in {alone:.0f} s."
            )

    return check
