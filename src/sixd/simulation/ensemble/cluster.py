"""Chunks of an ensemble on a dask cluster, or on another cluster by its executor (``executors.py``)."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from queue import Queue
from typing import Any

from sixd.errors import MissingPackageError, ScalarTypeError, WorkerError
from sixd.simulation.ensemble.draws import WHERE
from sixd.simulation.ensemble.executors import Executor
from sixd.simulation.ensemble.job import ChunkResult, Job, Span, packed, run_packed
from sixd.simulation.ensemble.tasks import distribute, next_finished
from sixd.spatial.scalar import Array

_CONNECT = 10.0  # s, for a scheduler to answer, and for a worker to be there


def on_cluster(
    job: Job, spans: list[Span], cut: Callable[[int, int], dict[str, Array]], cluster: Any, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Yield the results of the chunks, in any order.

    ``cluster`` is an address, a ``distributed.Client``, a dask cluster, or an executor.
    """
    if is_of_dask(cluster):
        distributed = require_distributed()
        with _client(distributed, cluster) as client:
            yield from distribute(_Dask(distributed, client, cluster, packed(job, _dumps()), cut), spans, retries)
    else:
        yield from distribute(Executor(cluster, packed(job, _dumps()), cut), spans, retries)


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


def _dumps() -> Callable[[Any], bytes]:
    """Return what pickles: cloudpickle, which takes lambdas too, if it is installed, as it is with dask."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps
    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps


class _Dask:
    """The workers of a dask cluster."""

    def __init__(
        self, distributed: Any, client: Any, cluster: Any, payload: bytes, cut: Callable[[int, int], dict[str, Array]]
    ) -> None:
        self.client, self.cluster, self.payload, self.cut = client, cluster, payload, cut
        self.lost = (distributed.KilledWorker, CancelledError)
        self.window = 2 * _threads(client, cluster)
        self.done: Queue[Any] = Queue()
        self.alone = 0.0  # s, since when no worker is there

    def submit(self, span: Span) -> Any:
        """Start a task."""
        future = self.client.submit(run_packed, self.payload, span[0], self.cut(*span), pure=False)
        future.add_done_callback(self.done.put)
        return future

    def finished(self, futures: list[Any]) -> Iterable[Any]:
        """Wait for a future; raise if the cluster has no workers any more."""
        self.alone = 0.0
        return (next_finished(self.done, self._check),)

    def _check(self, seconds: float) -> None:
        self.alone = 0.0 if self.client.nthreads() else self.alone + seconds
        if self.alone > _CONNECT:
            raise WorkerError(
                f"{WHERE}: the workers of the cluster {self.cluster!r} are gone, and none has come in "
                f"{self.alone:.0f} s."
            )

    def result(self, future: Any) -> ChunkResult:
        """Return the result of a future, which the cluster then forgets."""
        try:
            found: ChunkResult = future.result()
        except self.lost as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        future.release()
        return found

    def cancel(self, futures: list[Any]) -> None:
        """Cancel tasks."""
        if futures:
            self.client.cancel(futures)


def require_distributed() -> Any:
    """Return the package ``distributed``; raise with the command that installs it."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError(
            f"{WHERE}: cluster needs the package distributed, which is not installed. pip install distributed"
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
