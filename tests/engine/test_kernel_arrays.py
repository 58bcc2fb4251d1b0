"""Unusual arrays: compiled code supports any layout, stays within the arrays, and gives every sample the same bits."""

import ctypes
import functools
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from numpy.testing import assert_allclose

import sixd
from samples import single_joint

MODEL = single_joint("spherical")  # nq = 5, nv = 4
ARM = sixd.zoo.planar(2)  # nq = nv, so that results fit into inputs

ARRAYS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "energy": ("q", "qd"),
    "hybrid_dynamics": ("q", "qd", "qdd", "tau"),
}
FEW = ("inverse_dynamics", "energy")
DTYPES = ("float64", "float32")
each_way = pytest.mark.parametrize("way", ["public", "kernel"])
each_name = pytest.mark.parametrize("name", ARRAYS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


# the called functions, and the expected results ----------------------------------------------------------------


def static(name, model):
    return {"given": [model.joint_names[0]]} if name == "hybrid_dynamics" else {}


@functools.cache
def kernel(name, dtype, model=MODEL):
    return sixd.compile(getattr(sixd, name), model, dtype=dtype, **static(name, model))


@functools.cache
def program(name, model=MODEL):
    return kernel(name, "float64", model).program


def caller(way, name, dtype, model=MODEL):
    """Return the function of arrays alone: public, or explicitly compiled."""
    if way == "kernel":
        return kernel(name, dtype, model)
    fixed = static(name, model)
    return lambda *arrays, out=None: getattr(sixd, name)(model, *fixed.values(), *arrays, out=out)


def draw(model, name, rng, batch, dtype="float64"):
    count = int(np.prod(batch))
    q = np.array([model.random_configuration(rng) for _ in range(count)]).reshape((*batch, model.nq))
    rest = [rng.uniform(-1, 1, (*batch, model.nv)) for _ in ARRAYS[name][1:]]
    return [x.astype(dtype) for x in (q, *rest)]


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def same(a, b):
    """Whether results have the same types, shapes and bits; all NaN are equal."""
    pairs = list(zip(as_tuple(a), as_tuple(b), strict=True))
    return all(
        x.dtype == y.dtype and np.array_equal(x, y, equal_nan=True) and np.array_equal(np.signbit(x), np.signbit(y))
        if not (np.isnan(x).any() or np.isnan(y).any())
        else x.dtype == y.dtype and np.array_equal(x, y, equal_nan=True)
        for x, y in pairs
    )


def by_samples(call, arrays, cores):
    """Return results of unbatched calls, one for each sample to which the batch dimensions broadcast."""
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - c] for x, c in zip(arrays, cores, strict=True)))
    whole = [np.broadcast_to(x, batch + x.shape[x.ndim - c :]) for x, c in zip(arrays, cores, strict=True)]
    rows = [as_tuple(call(*(x[index].copy() for x in whole))) for index in np.ndindex(batch)]
    stacked = tuple(np.array(c).reshape(batch + np.shape(c[0])) for c in zip(*rows, strict=True))
    return stacked if len(stacked) > 1 else stacked[0]


def assert_near_reference(name, result, arrays, model=MODEL):
    """Compare with the graph evaluated by NumPy: 1e-10 in float64, 1e-4 norm-wise in float32."""
    for x, y in zip(as_tuple(result), program(name, model).evaluate(*arrays), strict=True):
        if x.dtype == np.float32:
            assert np.linalg.norm(x - y) <= 1e-4 * np.linalg.norm(y)
        else:
            assert_allclose(x, y, rtol=1e-10, atol=1e-10)


# samples ---------------------------------------------------------------------------------------------------------


@pytest.mark.many
@each_dtype
@each_way
@each_name
def test_every_batch_size(name, way, dtype, rng):
    """Batches of 1 to 40 samples: each sample has the bits of the unbatched call, whatever the size of the batch."""
    call, arrays = caller(way, name, dtype), draw(MODEL, name, rng, (40,), dtype)
    whole = call(*arrays)
    assert_near_reference(name, whole, arrays)
    assert same(whole, by_samples(call, arrays, [1] * len(arrays)))
    for n in range(41):
        assert same(call(*(x[:n] for x in arrays)), tuple(x[:n] for x in as_tuple(whole)))


@each_dtype
@each_name
def test_the_place_in_a_batch_does_not_matter(name, dtype, rng):
    """Samples in another order, and batches that begin elsewhere, have the same bits."""
    call, arrays = kernel(name, dtype), draw(MODEL, name, rng, (37,), dtype)
    whole = as_tuple(call(*arrays))
    order = rng.permutation(37)
    assert same(call(*(x[order] for x in arrays)), tuple(x[order] for x in whole))
    for first in range(1, 37):
        assert same(call(*(x[first:] for x in arrays)), tuple(x[first:] for x in whole))


@each_dtype
@each_way
@pytest.mark.parametrize("batch", [(0,), (1,), (2, 3), (3, 0, 2), (1, 1, 1), (2, 1, 3, 1), (17, 2)], ids=str)
@each_name
def test_batches_of_any_number_of_dimensions(name, batch, way, dtype, rng):
    """Leading dimensions are kept, also empty ones; two calls give the same result."""
    call, arrays = caller(way, name, dtype), draw(MODEL, name, rng, batch, dtype)
    result = as_tuple(call(*arrays))
    flat = as_tuple(call(*(x.reshape((-1, x.shape[-1])) for x in arrays)))
    for x, y, slot in zip(result, flat, program(name).outputs, strict=True):
        assert x.shape == batch + slot.shape
        assert x.dtype == dtype
        assert np.array_equal(x.reshape(y.shape), y)
    assert same(call(*arrays), result)


@each_dtype
@each_way
@pytest.mark.parametrize(
    "batches",
    [((5, 1), (4,), ()), ((), (), (3,)), ((1,), (7,), (1,)), ((), (0,), ()), ((0, 1), (3,), (1, 1)), ((2, 1, 3), (4, 1), (3,)),
     ((1, 1), (), ()), ((9,), (2, 1), (2, 9))],
    ids=str,
)  # fmt: skip
def test_broadcasting(batches, way, dtype, rng):
    """Leading dimensions broadcast like NumPy's, each sample as if it were called alone."""
    name = "inverse_dynamics"
    call = caller(way, name, dtype)
    arrays = [draw(MODEL, name, rng, b, dtype)[k] for k, b in enumerate(batches)]
    batch = np.broadcast_shapes(*batches)
    result = call(*arrays)
    assert result.shape == (*batch, MODEL.nv)
    whole = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
    assert same(call(*whole), result)
    assert same(call(*(np.array(x) for x in whole)), result)
    if 0 not in batch:
        assert same(by_samples(call, arrays, [1, 1, 1]), result)


@each_way
def test_matrices_as_inputs_broadcast_too(way, rng):
    """f_ext, with a core of two dimensions, in batches and with various layouts."""
    (q, qd, qdd), force = draw(MODEL, "inverse_dynamics", rng, (6,)), rng.normal(size=(6, MODEL.nb, 6))
    call = kernel("inverse_dynamics", "float64") if way == "kernel" else functools.partial(sixd.inverse_dynamics, MODEL)
    whole = call(q, qd, qdd, f_ext=force)
    assert_allclose(
        whole, by_samples(lambda *a: call(*a[:3], f_ext=a[3]), [q, qd, qdd, force], [1, 1, 1, 2]), rtol=0, atol=0
    )
    turned = np.asfortranarray(force)
    assert same(call(q, qd, qdd, f_ext=turned), whole)
    assert same(call(q, qd, qdd, f_ext=np.swapaxes(np.swapaxes(force, 1, 2).copy(), 1, 2)), whole)
    assert same(call(q[:, None], qd[:, None], qdd[:, None], f_ext=force[2])[2, 0], whole[2])
    assert not np.array_equal(whole, call(q, qd, qdd))


# layouts ---------------------------------------------------------------------------------------------------------


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)
    view = np.frombuffer(raw.data, dtype=x.dtype, count=x.size, offset=1).reshape(x.shape)
    view[...] = x
    assert x.size == 0 or not view.flags.aligned
    return view


def odd_strides(x):
    """Return samples whose stride is not a whole number of entries."""
    kind = np.dtype([("a", np.uint8), ("x", x.dtype, x.shape[-1:])])
    table = np.zeros(x.shape[:-1], dtype=kind)
    table["x"] = x
    return table["x"]


def inside(x, index):
    """Return a view, by ``index``, of a larger array full of NaN."""
    large = np.full([3 * n + 2 for n in x.shape], np.nan, dtype=x.dtype)
    view = large[index][tuple(slice(0, n) for n in x.shape)]
    view[...] = x
    return view


def read_only(x):
    y = x.copy()
    y.flags.writeable = False
    return y


class Subclass(np.ndarray):
    """An array class that changes NumPy's functions."""

    def __array_ufunc__(self, *_, **__):
        raise AssertionError("a subclass was asked")

    def __array_function__(self, *_, **__):
        raise AssertionError("a subclass was asked")


class ByArray:
    """An object that has only ``__array__``."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x if dtype is None else self.x.astype(dtype)


class ByDLPack:
    """An array of another library that has only DLPack."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


LAYOUTS = {
    "rows reversed": lambda x: x[::-1].copy()[::-1],
    "cores reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "both reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "fortran": np.asfortranarray,
    "transposed": lambda x: x.T.copy().T,
    "every other entry": lambda x: inside(x, (slice(None), slice(None, None, 2))),
    "every other row": lambda x: inside(x, (slice(None, None, 2), slice(None))),
    "third row and entry": lambda x: inside(x, (slice(1, None, 3), slice(2, None, 3))),
    "window": lambda x: inside(x, (slice(1, None), slice(1, None))),
    "slice of three dimensions": lambda x: np.repeat(x[:, None, :], 3, axis=1)[:, 1, :],
    "middle axis last": lambda x: np.moveaxis(np.moveaxis(np.repeat(x[None], 2, axis=0), 2, 0).copy(), 0, 2)[1],
    "unaligned": unaligned,
    "odd rows": odd_strides,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "read-only": read_only,
    "subclass": lambda x: x.view(Subclass),
    "matrix": lambda x: x.view(np.matrix),
    "masked": np.ma.array,
    "__array__": ByArray,
    "DLPack": ByDLPack,
}  # fmt: skip


@pytest.mark.many
@each_dtype
@each_way
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix", "energy"])
def test_layouts(name, layout, way, dtype, rng):
    """The position of the numbers does not matter: the bits are those of contiguous arrays, for one argument or for
    all.
    """
    call, change = caller(way, name, dtype), LAYOUTS[layout]
    for rows in (1, 5, 19):
        arrays = draw(MODEL, name, rng, (rows,), dtype)
        expected = call(*arrays)
        kept = [x.copy() for x in arrays]
        assert same(call(*map(change, arrays)), expected)
        for k in range(len(arrays)):
            assert same(call(*(change(x) if j == k else x for j, x in enumerate(arrays))), expected)
        assert all(np.array_equal(x, y) for x, y in zip(arrays, kept, strict=True))


@each_dtype
@each_way
@pytest.mark.parametrize("layout", [k for k in LAYOUTS if k not in ("matrix",)])
def test_layouts_of_one_sample(layout, way, dtype, rng):
    """The same for unbatched arrays."""
    call, change = caller(way, "inverse_dynamics", dtype), LAYOUTS[layout]
    arrays = draw(MODEL, "inverse_dynamics", rng, (2,), dtype)
    expected = call(*(x[1] for x in arrays))
    if layout in ("__array__", "DLPack"):
        assert same(call(*(change(x[1]) for x in arrays)), expected)
    else:
        assert same(call(*(change(x)[1] for x in arrays)), expected)


@each_way
def test_overlapping_samples_and_zero_strides(way, rng):
    """Inputs whose samples share memory: a sliding window, and one sample for all."""
    call = caller(way, "inverse_dynamics", "float64", ARM)
    line = rng.uniform(-1, 1, 30)
    window = as_strided(line, (29, 2), (8, 8))
    still = np.broadcast_to(rng.uniform(-1, 1, 2), (29, 2))
    lone = as_strided(line, (29, 2), (8, 0))  # both entries of a sample are one
    for arrays in ((window, window, window), (window, still, still), (still, window, lone), (lone, lone, still)):
        assert same(call(*arrays), call(*(x.copy() for x in arrays)))


@each_way
def test_memory_maps(way, rng, tmp_path):
    """Files mapped into memory, read-only, and as out."""
    call, arrays = caller(way, "inverse_dynamics", "float64"), draw(MODEL, "inverse_dynamics", rng, (11,))
    files = []
    for k, x in enumerate(arrays):
        np.save(tmp_path / f"{k}.npy", x)
        files.append(np.load(tmp_path / f"{k}.npy", mmap_mode="r"))
    out = np.lib.format.open_memmap(tmp_path / "out.npy", mode="w+", dtype=float, shape=(11, MODEL.nv))
    expected = call(*arrays)
    assert same(call(*files), expected)
    assert call(*files, out=out) is out
    out.flush()
    assert np.array_equal(np.load(tmp_path / "out.npy"), expected)


@each_way
@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "float16", "float32", ">i4", ">f4", "longdouble", "list"])
def test_other_numbers(kind, way, rng):
    """Numbers of other types are converted to float64: the bits are those of the converted arrays."""
    call = caller(way, "inverse_dynamics", "float64", ARM)
    for batch in ((), (9,)):
        q, qd, qdd = (rng.integers(0, 4, (*batch, 2)).astype(float) for _ in range(3))
        other = q.tolist() if kind == "list" else q.astype(kind)
        assert same(call(other, qd, qdd), call(q, qd, qdd))
        assert same(call(q, qd, other), call(q, qd, q))


def test_float32_in_gives_float32_out_in_any_byte_order(rng):
    """All arguments float32, native or not: float32; one float64 among them: float64."""
    small = [x.astype("f4") for x in draw(ARM, "inverse_dynamics", rng, (3,))]
    expected = sixd.inverse_dynamics(ARM, *small)
    assert expected.dtype == np.float32
    assert same(sixd.inverse_dynamics(ARM, *(x.astype(">f4") for x in small)), expected)
    assert sixd.inverse_dynamics(ARM, *small[:2], small[2].astype(float)).dtype == np.float64


@pytest.mark.parametrize("kind", ["float64", ">f8", "longdouble"])
@pytest.mark.parametrize("wrap", [np.asarray, ByDLPack, ByArray], ids=["array", "DLPack", "__array__"])
def test_float64_is_not_silently_rounded_to_float32(wrap, kind, rng):
    """A float32 kernel rejects wider floats, and says how to mend it; it accepts whole numbers and lists."""
    if wrap is ByDLPack and kind != "float64":
        pytest.skip("DLPack has no such numbers")
    call = kernel("inverse_dynamics", "float32", ARM)
    small = [x.astype("f4") for x in draw(ARM, "inverse_dynamics", rng, (3,))]
    for k, name in enumerate(("q", "qd", "qdd")):
        wrong = [wrap(x.astype(kind)) if j == k else x for j, x in enumerate(small)]
        with pytest.raises(
            sixd.ScalarTypeError,
            match=rf"{name} holds .*, expected float32.*{name}\.astype\('float32'\), or compile with dtype='float64'",
        ):
            call(*wrong)
    assert same(call(*(x.tolist() for x in small)), call(*small))
    whole = [np.round(x).astype(int) for x in small]
    assert same(call(*whole), call(*(x.astype("f4") for x in whole)))


# rejected arguments ----------------------------------------------------------------------------------------------


def on_gpu(x):
    """Return a DLPack capsule of ``x`` that is marked as on a GPU."""
    capsule = x.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = 2  # after the address of the data
    return capsule


class Gpu(ByDLPack):
    """An array on a GPU that has only DLPack."""

    def __dlpack__(self, **_):
        return on_gpu(self.x)

    def __dlpack_device__(self):
        return (2, 0)


class StubbornGpu(Gpu):
    """One that cannot be copied."""

    def __dlpack__(self, **_):
        raise BufferError("the array is on cuda:0")


class Torch(Gpu):
    """One with ``__array__`` that raises like PyTorch's."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")


class Odd(Gpu):
    """One whose ``__array__`` raises an error of its own."""

    def __array__(self, dtype=None, copy=None):
        raise AttributeError("no such device")


@each_way
@pytest.mark.parametrize("kind", [Gpu, StubbornGpu, Torch, Odd])
def test_arrays_that_are_not_on_the_cpu(kind, way, rng):
    """One clear error that says which argument is where, before and after the code was compiled."""
    call, (q, qd, qdd) = caller(way, "inverse_dynamics", "float64"), draw(MODEL, "inverse_dynamics", rng, (3,))
    for _ in range(2):
        with pytest.raises(
            sixd.DeviceError,
            match=r"inverse_dynamics: q is a numpy.ndarray in CPU memory, but qd is on a GPU",
        ):
            call(q, kind(qd), qdd)
        call(q, qd, qdd)


WRONG = {
    "a number": (1.0, "q has shape"),
    "a 0-d array": (np.array(1.0), "q has shape"),
    "too long": (np.zeros(6), "q has shape \\(6,\\), expected \\(..., 5\\)"),
    "a long row of a batch": (np.zeros((4, 6)), "q has shape \\(4, 6\\)"),
    "a column": (np.zeros((5, 1)), ".*Use .ravel"),
    "None": (None, "q is a NoneType"),
    "text": (["a"] * 5, "q holds <U1"),
    "truth values": (np.zeros(5, bool), "q holds bool"),
    "complex": (np.zeros(5, complex), "q holds complex128"),
    "dates": (np.zeros(5, "M8[s]"), "q holds datetime64"),
    "a structure": (np.zeros(3, [("a", "f8"), ("b", "f8", 4)]), "q holds"),
    "ragged": ([[1.0, 2.0], [3.0]], "q is a ragged sequence"),
    "gaps": (np.ma.array(np.zeros(5), mask=[0, 1, 0, 0, 0]), "q is a masked array with gaps"),
    "an object": (object(), "q is a object"),
    "a generator": ((x for x in range(5)), "q is a generator"),
    "a set": ({1.0, 2.0}, "q is a set"),
}


@each_way
@pytest.mark.parametrize("case", WRONG)
def test_anything_but_an_array_is_rejected(case, way):
    """A clear error of the library, each time."""
    call, (value, message) = caller(way, "inverse_dynamics", "float64"), WRONG[case]
    v = np.zeros(MODEL.nv)
    for _ in range(2):
        with pytest.raises(sixd.SixdError, match=f"^inverse_dynamics: {message}"):
            call(value, v, v)
        call(MODEL.neutral(), v, v)
        call(np.tile(MODEL.neutral(), (3, 1)), v, v)


@each_way
def test_batches_that_do_not_broadcast(way):
    """The error states both lengths, also on the path for plain batches."""
    call = caller(way, "inverse_dynamics", "float64", ARM)
    for _ in range(2):
        with pytest.raises(sixd.ShapeError, match=r"do not broadcast: q \(2,\), qd \(3,\), qdd \(\)"):
            call(np.zeros((2, 2)), np.zeros((3, 2)), np.zeros(2))
        call(*[np.zeros((2, 2))] * 3)


# out -------------------------------------------------------------------------------------------------------------

OUTS = {
    "contiguous": lambda shape, dtype: np.full(shape, np.nan, dtype),
    "fortran": lambda shape, dtype: np.full(shape, np.nan, dtype, order="F"),
    "reversed": lambda shape, dtype: np.full(shape, np.nan, dtype)[::-1],
    "every other row": lambda shape, dtype: np.full((2 * shape[0], *shape[1:]), np.nan, dtype)[::2],
    "every other entry": lambda shape, dtype: np.full((*shape, 2), np.nan, dtype)[..., 1],
    "window": lambda shape, dtype: np.full([n + 2 for n in shape], np.nan, dtype)[tuple(slice(1, -1) for _ in shape)],
    "unaligned": lambda shape, dtype: unaligned(np.full(shape, np.nan, dtype)),
    "other byte order": lambda shape, dtype: np.full(shape, np.nan, np.dtype(dtype).newbyteorder()),
    "float32": lambda shape, dtype: np.full(shape, np.nan, np.float32),
    "longdouble": lambda shape, dtype: np.full(shape, np.nan, np.longdouble),
    "objects": lambda shape, dtype: np.full(shape, None, object),
}


def root(x):
    return x if x.base is None or not isinstance(x.base, np.ndarray) else root(x.base)


@pytest.mark.many
@each_dtype
@each_way
@pytest.mark.parametrize("layout", OUTS)
@each_name
def test_out_of_any_layout(name, layout, way, dtype, rng):
    """``out`` is filled, whatever its layout, and returned; nothing outside it is written."""
    call = caller(way, name, dtype)
    for rows in (1, 7, 18):
        arrays = draw(MODEL, name, rng, (rows,), dtype)
        expected = as_tuple(call(*arrays))
        places = tuple(OUTS[layout](x.shape, dtype) for x in expected)
        out = places if len(places) > 1 else places[0]
        assert call(*arrays, out=out) is out
        for x, y in zip(expected, places, strict=True):
            assert np.array_equal(x.astype(y.dtype), y)
        if layout not in ("unaligned", "objects"):
            for x in places:
                assert np.isnan(root(x)).sum() == root(x).size - x.size


@each_dtype
@each_way
@each_name
def test_out_of_one_sample_and_of_none(name, way, dtype, rng):
    """Unbatched and empty results are written to ``out`` too, scalars to arrays without dimensions."""
    call = caller(way, name, dtype)
    for batch in ((), (0,), (1,), (2, 0)):
        arrays = draw(MODEL, name, rng, batch, dtype)
        expected = as_tuple(call(*arrays))
        places = tuple(np.full(np.shape(x), np.nan, dtype) for x in expected)
        out = places if len(places) > 1 else places[0]
        assert call(*arrays, out=out) is out
        assert all(np.array_equal(x, y) for x, y in zip(expected, places, strict=True))


@each_way
def test_scalar_results_are_scalars(way, rng):
    """Energies of one state are NumPy's scalars, of a batch of one they are arrays of one; the first call like the
    later ones.
    """
    for _ in range(2):
        call = caller(way, "energy", "float64")
        one = call(*draw(MODEL, "energy", rng, ()))
        assert all(isinstance(x, np.float64) for x in one)
        assert all(type(x) is np.ndarray and x.shape == (1,) for x in call(*draw(MODEL, "energy", rng, (1,))))


@each_way
def test_results_are_new_arrays(way, rng):
    """The next call does not change earlier results: they belong to the caller."""
    call = caller(way, "inverse_dynamics", "float64")
    for batch in ((), (5,)):
        first, second = draw(MODEL, "inverse_dynamics", rng, batch), draw(MODEL, "inverse_dynamics", rng, batch)
        call(*first)
        result = call(*first)
        kept = result.copy()
        call(*second)
        assert np.array_equal(result, kept)
        assert type(result) is np.ndarray
        assert result.flags.owndata
        assert result.flags.writeable


@each_way
@pytest.mark.parametrize("plain", [True, False], ids=["plain batch", "broadcast"])
def test_wrong_out_is_rejected(plain, way, rng):
    """Shape, dtype, number and kind are checked before anything is written."""
    one, two = caller(way, "inverse_dynamics", "float64"), caller(way, "energy", "float64")
    q, qd, qdd = draw(MODEL, "inverse_dynamics", rng, (4,))
    q = q if plain else q[:1]
    one(q, qd, qdd), two(q, qd)
    good, locked = np.zeros(4), np.zeros((4, MODEL.nv))
    locked.flags.writeable = False
    for call, arrays, out, message in [
        (one, (q, qd, qdd), locked, "out is read-only"),
        (one, (q, qd, qdd), np.zeros((5, MODEL.nv)), r"out has shape \(5, 4\), expected \(4, 4\)"),
        (one, (q, qd, qdd), np.zeros(MODEL.nv), r"out has shape \(4,\), expected \(4, 4\)"),
        (one, (q, qd, qdd), np.zeros((1, 4, MODEL.nv)), "out has shape"),
        (one, (q, qd, qdd), np.zeros((4, MODEL.nv), int), "out holds int64"),
        (one, (q, qd, qdd), np.zeros((4, MODEL.nv), bool), "out holds bool"),
        (one, (q, qd, qdd), [[0.0] * MODEL.nv] * 4, "out is a list, expected a NumPy array"),
        (one, (q, qd, qdd), (np.zeros((4, MODEL.nv)),), "out is a tuple, expected a NumPy array"),
        (one, (q, qd, qdd), ByDLPack(np.zeros((4, MODEL.nv))), "out is a ByDLPack"),
        (two, (q, qd), good, "out has 1 arrays, expected a tuple of 2"),
        (two, (q, qd), (good,), "out has 1 arrays, expected a tuple of 2"),
        (two, (q, qd), (good, good.copy(), good.copy()), "out has 3 arrays"),
        (two, (q, qd), (good, None), "out is a NoneType"),
        (two, (q, qd), (good, np.zeros(5)), r"out has shape \(5,\), expected \(4,\)"),
    ]:
        with pytest.raises(sixd.SixdError, match=message):
            call(*arrays, out=out)
    assert not good.any()
    pair = [np.zeros(4), np.zeros(4)]
    assert two(q, qd, out=pair) is pair
    assert same(tuple(pair), two(q, qd))


# out that overlaps the inputs ------------------------------------------------------------------------------------


def spoiled(x, row):
    x[row % len(x), 0] = np.nan
    return x


# the input and the output as views of one buffer of n + 1 rows
OVERLAPS = {
    "the same": lambda b: (b[:-1], b[:-1]),
    "one row later": lambda b: (b[:-1], b[1:]),
    "one row earlier": lambda b: (b[1:], b[:-1]),
    "reversed": lambda b: (b[:-1], b[:-1][::-1]),
    "one row for all": lambda b: (b[len(b) // 2], b[:-1]),
    "half an entry": lambda b: (b[:-1], b.reshape(-1)[1:-1].reshape(-1, b.shape[1])),
    "columns swapped": lambda b: (b[:-1, ::-1], b[:-1]),
}


@pytest.mark.many
@each_dtype
@each_way
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("bad", [False, True], ids=["finite", "with NaN"])
def test_out_may_overlap_the_inputs(bad, overlap, threads, way, dtype, rng, monkeypatch):
    """Results are those of separate arrays, on one thread or two, also if a sample is NaN."""
    monkeypatch.setattr("sixd.runtime.routine.LARGE", 1)
    monkeypatch.setattr("sixd.runtime.threads._threads", threads)
    call = caller(way, "inverse_dynamics", dtype, ARM)
    if overlap == "half an entry":
        return check_half_an_entry(call, dtype, rng, bad)
    for rows in (1, 2, 7, 8, 9, 16, 17, 33):
        for k in range(3):
            buffer = rng.uniform(-1, 1, (rows + 1, 2)).astype(dtype)
            arrays = [x.astype(dtype) for x in rng.uniform(-1, 1, (3, rows, 2))]
            arrays[k], out = OVERLAPS[overlap](buffer)
            if bad:
                spoiled(arrays[(k + 1) % 3], rows // 2)
            expected = call(*(x.copy() for x in arrays))
            assert call(*arrays, out=out) is out
            assert same(out, expected)


def check_half_an_entry(call, dtype, rng, bad):
    """Check an output that begins in the middle of the input's first sample."""
    for rows in (3, 9, 17):
        line = rng.uniform(-1, 1, 2 * rows + 1).astype(dtype)
        v = [x.astype(dtype) for x in rng.uniform(-1, 1, (2, rows, 2))]
        q, out = line[:-1].reshape(rows, 2), line[1:].reshape(rows, 2)
        if bad:
            spoiled(v[0], 1)
        expected = call(q.copy(), *v)
        assert call(q, *v, out=out) is out
        assert same(out, expected)


@each_way
def test_matrices_over_their_own_inputs(way, rng):
    """A result of another shape in the memory of the input: M of q that is inside ``out``."""
    call = caller(way, "mass_matrix", "float64", ARM)
    for rows in (1, 5, 8, 21):
        buffer = rng.uniform(-1, 1, (rows, 2, 2))
        for q in (buffer[:, 0], buffer[:, 1], buffer[::-1, 0], buffer.reshape(-1, 2)[:rows]):
            buffer[...] = rng.uniform(-1, 1, buffer.shape)
            expected = call(q.copy())
            assert same(call(q, out=buffer), expected)


# NaN -------------------------------------------------------------------------------------------------------------


@each_dtype
@each_way
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=str)
@each_name
def test_a_bad_sample_affects_no_other(name, bad, way, dtype, rng):
    """NaN or an infinity in one sample, wherever it is: that sample is not finite, all others have the same bits."""
    call, arrays = caller(way, name, dtype), draw(MODEL, name, rng, (19,), dtype)
    clean = as_tuple(call(*arrays))
    for row in range(19):
        k = row % len(arrays)
        if name == "hybrid_dynamics" and k > 1:
            k = 1  # some entries of the others are not read
        changed = [x.copy() for x in arrays]
        changed[k][row, -1] = bad
        result = as_tuple(call(*changed))
        assert not all(np.isfinite(x[row]).all() for x in result)
        for x, y in zip(result, clean, strict=True):
            assert np.array_equal(np.delete(x, row, axis=0), np.delete(y, row, axis=0))
        one = as_tuple(call(*(x[row] for x in changed)))
        assert same(tuple(np.asarray(x) for x in one), tuple(x[row] for x in result))


@each_way
def test_samples_that_are_all_nan(way):
    """All NaN gives all NaN, without an error or a warning."""
    call = caller(way, "forward_dynamics", "float64")
    for batch in ((), (1,), (11,)):
        arrays = [np.full((*batch, n), np.nan) for n in (MODEL.nq, MODEL.nv, MODEL.nv)]
        assert np.isnan(call(*arrays)).all()


@each_way
@each_dtype
def test_numpys_error_state_does_not_matter(way, dtype, rng):
    """If NumPy is set to raise for NaN and overflow, samples with them still raise no error."""
    call, arrays = caller(way, "forward_dynamics", dtype), draw(MODEL, "forward_dynamics", rng, (5,), dtype)
    arrays[1][2], arrays[2][3, 0] = np.nan, np.inf
    expected = call(*arrays)
    with np.errstate(all="raise"):
        assert same(call(*arrays), expected)
        assert same(call(*(x[2] for x in arrays)), expected[2])
        assert same(call(*(x[3:] for x in arrays)), expected[3:])


# size and borders ------------------------------------------------------------------------------------------------


@each_dtype
def test_a_million_samples(dtype, rng):
    """Samples at both ends and at random places have the bits of small calls; the number of threads makes no
    difference.
    """
    rows = 1_000_003
    arrays = [x.astype(dtype) for x in rng.uniform(-3, 3, (3, rows, 2))]
    whole = sixd.inverse_dynamics(ARM, *arrays)
    assert whole.shape == (rows, 2)
    assert whole.dtype == dtype
    picked = np.concatenate([np.arange(40), np.arange(rows - 40, rows), rng.integers(0, rows, 2000)])
    assert same(sixd.inverse_dynamics(ARM, *(x[picked] for x in arrays)), whole[picked])
    out = np.empty_like(whole)
    sixd.set_num_threads(1)
    try:
        sixd.inverse_dynamics(ARM, *arrays, out=out)
    finally:
        sixd.set_num_threads(None)
    assert np.array_equal(out, whole)


@pytest.mark.long
@each_dtype
@pytest.mark.parametrize("threads", [1, 2])
def test_wide_outputs_of_large_batches(threads, dtype, monkeypatch, rng):
    """Results of some thousand bytes, which large batches write past the cache: at any alignment, and nothing outside
    them.
    """
    width = 2048 // np.dtype(dtype).itemsize

    def spread(q):
        return np.array([q[k % 2] * (k + 1) + q[k // 2 % 2] for k in range(width)]), q[0] * q[1]

    monkeypatch.setattr("sixd.runtime.routine.LARGE", 1)
    monkeypatch.setattr("sixd.runtime.threads._threads", 1)
    call = sixd.compile(spread, ARM, dtype=dtype)
    q = rng.uniform(-1, 1, (5003, 2)).astype(dtype)
    q[17] = np.nan
    expected = [np.concatenate(part) for part in zip(*(call(q[k : k + 100]) for k in range(0, 5003, 100)), strict=True)]
    monkeypatch.setattr("sixd.runtime.threads._threads", threads)
    assert same(call(q), tuple(expected))
    buffer = np.empty(5003 * width + 40, dtype)
    for first in range(17):
        for rows in (4100, 5003):
            buffer[...] = 77
            wide, narrow = buffer[first : first + rows * width].reshape(rows, width), np.empty(rows, dtype)
            call(q[:rows], out=(wide, narrow))
            assert same((wide, narrow), tuple(x[:rows] for x in expected))
            assert (buffer[:first] == 77).all()
            assert (buffer[first + rows * width :] == 77).all()


@pytest.mark.parametrize(
    "frame", [["link1"], np.zeros(2), None, 3, {"link1"}, ("link1",), object()], ids=lambda x: type(x).__name__
)
def test_invalid_frame_names(frame):
    """Anything that is not a name of a frame: a clear error, compiled or not."""
    q = np.zeros(2)
    for x in (q, np.zeros((3, 2))):
        for _ in range(2):
            sixd.pose(ARM, x, "link1")
            with pytest.raises(sixd.SixdError, match="pose: model 'planar2': (no frame named|the frame is)"):
                sixd.pose(ARM, x, frame)
            if isinstance(frame, list | tuple):  # several frames, of which one exists
                assert np.array_equal(sixd.velocity(ARM, x, x, frame=frame), sixd.velocity(ARM, x, x, "link1"))
            else:
                with pytest.raises(sixd.SixdError, match="velocity: frame (is|holds) .* expected (a name|names)"):
                    sixd.velocity(ARM, x, x, frame=frame)
            with pytest.raises(TypeError, match="missing 1 required positional argument: 'frame'"):
                sixd.pose(ARM, x)


BORDER = """
    import ctypes, mmap, sys
    import numpy as np
    import sixd
    from samples import single_joint

    page = mmap.PAGESIZE
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    class Fenced:
        '''Pages between two protected pages.'''

        def __init__(self, pages):
            self.map = mmap.mmap(-1, (pages + 2) * page)
            base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
            self.size = pages * page
            for at in (base, base + page + self.size):
                assert protect(at, page, 0) == 0
            self.bytes = np.frombuffer(self.map, np.uint8, self.size, page)

        def array(self, shape, dtype, where, gap=0):
            '''An array that begins, or ends, at the fence; ``gap`` entries lie between rows.'''
            dtype = np.dtype(dtype)
            rows, core = shape[0], int(np.prod(shape[1:]))
            size = (rows * core + (rows - 1) * gap) * dtype.itemsize
            first = 0 if where == "begin" else self.size - size
            assert 0 <= first and first + size <= self.size
            flat = self.bytes[first : first + size].view(dtype)
            if not gap:
                return flat.reshape(shape)
            inner = np.cumprod((dtype.itemsize, *shape[:0:-1]))[::-1][1:]
            strides = ((core + gap) * dtype.itemsize, *map(int, inner))
            return np.lib.stride_tricks.as_strided(flat, shape, strides)

    rng = np.random.default_rng(0)
    fences = [Fenced(6) for _ in range(5)]
    model = single_joint("spherical")
    cases = (sixd.zoo.planar(2), sixd.zoo.planar(1), model)
    functions = {"inverse_dynamics": 3, "mass_matrix": 1, "energy": 2}
    checked = 0
    for robot in cases:
        for name, count in functions.items():
            for dtype in ("float64", "float32"):
                kernel = sixd.compile(getattr(sixd, name), robot, dtype=dtype)
                for rows in range(1, 18):
                    widths = (robot.nq, robot.nv, robot.nv)[:count]
                    plain = [rng.uniform(0.1, 1, (rows, n)).astype(dtype) for n in widths]
                    plain[0] = np.array([robot.random_configuration(rng) for _ in range(rows)], dtype)
                    expected = kernel(*plain)
                    expected = expected if isinstance(expected, tuple) else (expected,)
                    for where in ("begin", "end"):
                        for gap in (0, 3):
                            fenced = [f.array(x.shape, dtype, where, gap) for f, x in zip(fences, plain)]
                            places = tuple(f.array(x.shape, dtype, where, gap) for f, x in zip(fences[3:], expected))
                            for a, b in zip(fenced, plain):
                                a[...] = b
                            kernel(*fenced, out=places if len(places) > 1 else places[0])
                            assert all(np.array_equal(a, b) for a, b in zip(places, expected))
                            one = kernel(*(x[-1] for x in fenced))
                            one = one if isinstance(one, tuple) else (one,)
                            assert all(np.array_equal(a, b[-1]) for a, b in zip(one, expected))
                            checked += 1
    print(checked)
"""


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="pages are protected by mprotect")
def test_arrays_that_end_at_a_page_border():
    """Inputs and outputs between pages that must not be accessed, at either end, for 1 to 17 samples."""
    path = os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), *sys.path])
    command = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(BORDER)]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) == 3 * 3 * 2 * 17 * 2 * 2
