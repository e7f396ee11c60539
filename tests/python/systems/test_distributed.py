"""Dask's distributed scheduler: Tensors go between worker processes as frames of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import arrays
import numpy
import pytest

import dlx

distributed = arrays.require("distributed")
da = pytest.importorskip("dask.array")

ROOT = Path(__file__).parents[3]


def entry_point(folder):
    """The metadata that an installed wheel has, with what pyproject.toml says, in a folder."""
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    info = folder / "libdlx-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: libdlx\nVersion: 0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return str(folder)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler here, and two workers in processes of their own."""
    sys.path.append(entry_point(tmp_path_factory.mktemp("site")))  # workers have our sys.path
    try:
        with (
            distributed.LocalCluster(
                n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
            ) as running,
            distributed.Client(running) as client,
        ):
            client.wait_for_workers(2)
            yield client
    finally:
        sys.path.pop()


def test_size_is_known_by_the_entry_point(tmp_path):
    code = """
import dask.sizeof, numpy, sys
assert "dask.array" not in sys.modules
import dlx
big = dlx.asarray(numpy.zeros(10_000_000))
print(dask.sizeof.sizeof(big), dask.sizeof.sizeof([big, big]) >= 160_000_000,
      dask.sizeof.sizeof(big[:10]), dask.sizeof.sizeof(big[0].broadcast_to((1 << 40,))),
      dask.sizeof.sizeof(big[:0]))
"""
    path = os.pathsep.join(filter(None, (entry_point(tmp_path), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.split() == ["80000000", "True", "80", "8", "0"], done.stderr


def test_frames_are_the_memory_itself():
    from distributed.protocol import deserialize, serialize

    tensor = dlx.asarray(arrays.aligned(1 << 16))
    header, frames = serialize(tensor)
    sizes = {memoryview(frame).nbytes for frame in frames}
    (frame,) = (f for f in frames if memoryview(f).nbytes == tensor.nbytes)

    assert sizes - {tensor.nbytes} < set(range(1000))
    assert dlx.asarray(memoryview(frame)).data_ptr == tensor.data_ptr
    received = [bytearray(f) for f in frames]  # as they come from a socket
    back = deserialize(header, received)
    assert type(back) is dlx.Tensor
    assert back.data_ptr == dlx.asarray(received[frames.index(frame)]).data_ptr
    assert not back.readonly


def test_read_only_stays_read_only():
    from distributed.protocol import deserialize, serialize

    header, frames = serialize(dlx.asarray(arrays.aligned(100)).as_readonly())
    back = deserialize(header, [bytearray(f) for f in frames])
    assert back.readonly
    assert back.tolist() == list(range(100))


def _process_and_sum(tensor):
    return os.getpid(), type(tensor).__module__ + "." + type(tensor).__name__, tensor.sum().item()


def test_tensors_go_to_workers_between_them_and_back(cluster):
    first, second = list(cluster.scheduler_info()["workers"])
    tensor = dlx.asarray(numpy.arange(200_000.0))
    [sent] = cluster.scatter([tensor], workers=[first], hash=False)
    doubled = cluster.submit(lambda t: t * 2, sent, workers=[first], pure=False)
    pid, name, total = cluster.submit(_process_and_sum, doubled, workers=[second]).result()
    back = doubled.result()

    assert name == "dlx.Tensor"
    assert total == 199_999 * 200_000
    assert pid == cluster.run(os.getpid)[second] != os.getpid()
    assert type(back) is dlx.Tensor
    assert back[-1].item() == 399_998
    assert cluster.nbytes(keys=[doubled.key], summary=False)[doubled.key] >= tensor.nbytes


@pytest.mark.parametrize("name", [*arrays.NUMPY_NAMES, "bfloat16", "float8_e4m3fn", "int4"])
def test_dtypes(cluster, name):
    tensor = dlx.asarray(arrays.numpy_array(name))
    back = cluster.submit(lambda t: t, tensor, pure=False).result()

    assert type(back) is dlx.Tensor
    assert dlx.dtype(back.dtype) == dlx.dtype(tensor.dtype)
    assert back.tolist() == tensor.tolist()


def test_an_array_of_tensors_is_computed_by_both_workers(cluster):
    source = numpy.random.default_rng(0).normal(size=(200, 100))
    lazy = da.from_array(dlx.asarray(source), chunks=(50, 100))

    mean = numpy.mean(numpy.exp(lazy)).compute(scheduler=cluster)
    assert type(mean) is dlx.Tensor
    numpy.testing.assert_allclose(mean.numpy(), numpy.exp(source).mean())
    kept = (lazy + 1).persist(scheduler=cluster)
    blocks = kept.to_delayed().ravel().tolist()
    where = set(cluster.compute([_pid_of(block) for block in blocks], sync=True))
    assert where
    assert where <= set(cluster.run(os.getpid).values())  # no None: every chunk is a Tensor
    gram = (kept.T @ kept).compute(scheduler=cluster)
    assert type(gram) is dlx.Tensor
    numpy.testing.assert_allclose(gram.numpy(), (source + 1).T @ (source + 1))


def _pid_of(block):
    from dask import delayed

    return delayed(lambda b: os.getpid() if type(b) is dlx.Tensor else None, pure=False)(block)


def test_a_tensor_of_another_device_says_how_to_send_it(cluster):
    with pytest.raises((TypeError, dlx.Error)) as caught:
        cluster.submit(lambda t: t, dlx.from_pointer(64, 3, "int8", device="cuda:0")).result()
    text, error = "", caught.value
    while error is not None:
        text, error = f"{text}{error}", error.__cause__ or error.__context__
    assert "to_device('cpu')" in text


def test_percentiles_are_taken_by_the_workers(cluster):
    source = numpy.random.default_rng(2).normal(size=50)
    lazy = da.from_array(dlx.asarray(source), chunks=10)

    result = da.percentile(lazy, [25, 50]).compute(scheduler=cluster)
    assert type(result) is dlx.Tensor
    expected = da.percentile(da.from_array(source, chunks=10), [25, 50]).compute()
    assert result.tolist() == expected.tolist()
