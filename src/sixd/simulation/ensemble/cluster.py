"""Chunks of an ensemble on a dask cluster; the chunks of a lost worker are repeated on others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from itertools import islice
from queue import Empty, Queue
from typing import Any

from sixd.errors import MissingPackageError, ScalarTypeError, WorkerError
from sixd.simulation.ensemble.draws import WHERE
from sixd.simulation.ensemble.job import ChunkResult, Job, Span, packed, run_packed
from sixd.simulation.ensemble.workers import Attempts
from sixd.spatial.scalar import Array

_CONNECT = 10.0  # s, for a scheduler to answer, and for a worker to be there
_CHECK = 2.0  # s, after which the cluster is asked whether it has workers


def on_cluster(
    job: Job, spans: list[Span], cut: Callable[[int, int], dict[str, Array]], cluster: Any, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Yield the results of the chunks, in any order.

    ``cluster`` is an address, a ``distributed.Client``, or a dask cluster.
    """
    distributed = require_distributed()
    import cloudpickle  # comes with dask; it also pickles lambdas and functions of a notebook

    payload = packed(job, cloudpickle.dumps)
    attempts, submitted = Attempts(retries), {}  # type: Attempts, dict[Any, Span]
    with _client(distributed, cluster) as client:
        left = iter(spans)
        finished: Queue[Any] = Queue()

        def submit(span: Span) -> None:
            future = client.submit(run_packed, payload, span[0], cut(*span), pure=False)
            submitted[future] = span
            future.add_done_callback(finished.put)

        try:
            # two for each thread of the cluster: one running, one waiting; so results do not pile up there
            for span in islice(left, 2 * _threads(client, cluster)):
                submit(span)
            while submitted:
                future = _next(finished, client, cluster)
                span = submitted.pop(future)
                try:
                    found = future.result()
                except Exception as error:
                    lost = isinstance(error, (distributed.KilledWorker, CancelledError))
                    attempts.failure(span, ConnectionError(f"{type(error).__name__}: {error}") if lost else error)
                    submit(span)
                    continue
                future.release()
                yield span, found
                for span in islice(left, 1):
                    submit(span)
        finally:
            if submitted:
                client.cancel(list(submitted))


def _next(finished: Queue[Any], client: Any, cluster: Any) -> Any:
    """Return a future that is done; raise if the cluster has no workers any more."""
    alone = 0.0
    while True:
        try:
            return finished.get(timeout=_CHECK)
        except Empty:
            alone = 0.0 if client.nthreads() else alone + _CHECK
            if alone > _CONNECT:
                raise WorkerError(
                    f"{WHERE}: the workers of the cluster {cluster!r} are gone, and none has come in {alone:.0f} s."
                ) from None


def require_distributed() -> Any:
    """Return the package ``distributed``; raise with the command that installs it."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError(
            f"{WHERE}: cluster needs the package distributed, which is not installed. pip install 'sixd[cluster]'"
        ) from None
    return distributed


@contextlib.contextmanager
def _client(distributed: Any, cluster: Any) -> Iterator[Any]:
    """Yield a client of the cluster; close it at the end if it was made here."""
    if isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise ScalarTypeError(f"{WHERE}: cluster is an asynchronous Client, expected a plain one.")
        yield cluster
        return
    address = getattr(cluster, "scheduler_address", cluster)
    if not isinstance(address, str):
        raise ScalarTypeError(f"{WHERE}: cluster is {cluster!r}, expected an address 'tcp://…' or a dask Client.")
    try:
        client = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkerError(
            f"{WHERE}: no dask scheduler answers at {address!r}: {error}. Start one with 'dask scheduler', and workers "
            f"with 'dask worker ADDRESS'."
        ) from error
    with client:
        yield client


def _threads(client: Any, cluster: Any) -> int:
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
