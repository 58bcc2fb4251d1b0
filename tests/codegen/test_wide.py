"""Wide rows, whose cache lines are written past the cache: any length, any address, and no write outside the rows."""

import numpy as np
import pytest

from sixd.codegen.llvm import loop as module
from sixd.codegen.llvm import rolled
from sixd.codegen.llvm.ir import Type
from sixd.codegen.llvm.machine import LINE, MALLOC, assemble, host
from sixd.codegen.llvm.wide import WIDE, pieces, wide_outputs
from sixd.runtime.cpython import GeneralizedUfunc
from sixd.runtime.machine_code import LoadedImage, make_image
from sixd.trace import trace

TYPES = {"float64": Type("double", 8), "float32": Type("float", 16)}
# lengths of rows: one for each number of bytes by which a row may exceed whole lines
LENGTHS = [(dtype, WIDE // np.dtype(dtype).itemsize + k) for dtype, type in TYPES.items() for k in range(type.lanes)]


def numbers(q, length):
    """Return products and zeros, of which there are whole lines: rounded once, so NumPy has the same bits."""
    return [0 * q[0] if is_zero(k) else q[k % 2] * (k + 1) for k in range(length)]


def is_zero(k):
    return k % 7 == 0 or k // 24 % 3 == 1


def traced(length, dtype):
    return trace(lambda q: np.array(numbers(q, length), dtype=object), {"q": (2,)}, dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_pieces_cover_every_entry_once(dtype):
    type = TYPES[dtype]
    one = LINE // type.lanes
    for size in [*range(type.lanes, 3 * type.lanes), 128, 289, 324, 1225, 1444]:
        seen = np.zeros((type.lanes, size), int)
        for p in pieces(size, type):
            for lane, skip in enumerate(p.skips):
                if skip is not None:
                    first = p.first + skip
                    assert 0 <= skip <= p.width - p.length
                    assert first + p.length <= size
                    seen[lane, first : first + p.length] += 1
                    assert not p.is_line or (MALLOC + (lane * size + first) * one) % LINE == 0
        assert (seen == 1).all()


def test_which_outputs_are_wide():
    assert wide_outputs(traced(WIDE // 8, "float64"), TYPES["float64"]) == [0]
    assert wide_outputs(traced(WIDE // 8 + 3, "float64"), TYPES["float64"]) == [0]
    assert wide_outputs(traced(WIDE // 8 - 1, "float64"), TYPES["float64"]) == []
    assert wide_outputs(traced(WIDE // 8, "float64"), Type("double", 4)) == []  # vectors are not lines


CASES = [(*case, "never") for case in LENGTHS] + [(*case, "always") for case in LENGTHS[:9]]


@pytest.mark.many
@pytest.mark.parametrize("large", [True, False], ids=["past the cache", "cached"])
@pytest.mark.parametrize(("dtype", "length", "when"), CASES)
def test_rows_of_any_length_at_any_address(dtype, length, when, large, monkeypatch, rng):
    """All numbers of rows, all alignments, rows with gaps, code with a table; ``CACHE`` decides which form is used."""
    monkeypatch.setattr(module, "CACHE", 0 if large else 1 << 40)
    monkeypatch.setattr(rolled, "WHEN", when)
    machine, program = host(), traced(length, dtype)
    text = module.emit_loop(program, dtype, machine.lanes(dtype), 1e30, machine.has_fma)
    code = LoadedImage(make_image(assemble(text, machine)))
    ufunc = GeneralizedUfunc(code.address("loop"), "wide", dtype, [(2,)], [(length,)], code)
    lanes = LINE // np.dtype(dtype).itemsize
    q = rng.uniform(-1, 1, (40, 2)).astype(dtype)
    q[11] = np.nan
    expected = np.array(numbers(q.T, length)).T.astype(dtype)
    expected[11, [k for k in range(length) if is_zero(k)]] = 0  # by structure
    for rows, gap in [(1, 0), (5, 0), (lanes, 0), (lanes + 1, 0), (40, 0), (40, lanes), (40, 3), (7, 512 * lanes)]:
        memory = np.empty((rows + 1) * (length + gap) + 2 * lanes, dtype)
        for first in range(lanes):
            memory[...] = 77
            table = memory[first : first + rows * (length + gap)].reshape(rows, length + gap)
            with np.errstate(all="ignore"):
                ufunc.ufunc(q[:rows], out=table[:, :length])
            assert np.array_equal(table[:, :length], expected[:rows], equal_nan=True)
            assert (table[:, length:] == 77).all()
            assert (memory[:first] == 77).all()
            assert (memory[first + rows * (length + gap) :] == 77).all()
