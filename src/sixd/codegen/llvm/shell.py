"""The way from a Python call to compiled code: functions in CPython's vectorcall convention, for all routines.

``call`` serves an object that is bound to one plan, such as a kernel; ``front`` a public function, which finds the plan
by its first argument, the system. Both accept the most common arrays: exactly NumPy's class, native floats of one width,
contiguous, of the right core shapes and of one batch shape; with or without ``out=``. Results are made here. All other
arguments, batches for several threads, and every suspect result go to the fallback, a Python callable.

The code is data-driven, one for all shapes and both float widths: a plan (``sixd.runtime.calls``) is a table of words
that lists the shapes, the functions of Python and NumPy, and the compiled code, by pointers that may be null. Code that
is made for the shapes would be some 5 ns faster, and would have to be compiled for each combination of shapes.
"""

from __future__ import annotations

from collections.abc import Callable

from sixd.codegen.llvm.ir import POINTER, WORD, Code, Module, Type, Value
from sixd.codegen.llvm.machine import (
    CACHE,
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    FLAGS,
    FRONT,
    KIND,
    KINDS_OF_PLAN,
    NDIM,
    OBJECT,
    PLAN,
    SHAPE,
    SLOT,
    SPEC,
    TYPE,
    WARN_ON_WRITE,
    WRITEABLE,
    index_of,
    slot_of,
)

INT, FLAG = Type("i32"), Type("i1")
MOST_ARRAYS, MOST_DIMENSIONS = 64, 32
DECLINED = "inttoptr (i64 1 to ptr)"  # an address that no object has


def emit_shell() -> str:
    """The module with ``call`` and ``front``: ``PyObject *f(PyObject *self, PyObject **args, size_t n, PyObject *names)``."""
    module = Module()
    _define_evaluate(module)
    _define_call(module)
    _define_front(module)
    return str(module)


def _define_call(module: Module) -> None:
    code = Code(module)
    plan = _load(code, "%self", OBJECT["words"], POINTER)
    number = Value(code, WORD, "%n") & (2**63 - 1)  # the highest bit says that args[-1] may be overwritten
    _refuse(code, number.compare("ne", _word(code, plan, PLAN, "inputs")))
    named = code.at("%args", number * 8)
    _evaluate_or_decline(code, plan, Value(code, POINTER, "%args"), named, (plan, PLAN))
    module.define("call", "ptr @call(ptr %self, ptr %args, i64 %n, ptr %names) nounwind", code)


def _define_front(module: Module) -> None:
    code = Code(module)
    front = _load(code, "%self", OBJECT["words"], POINTER)
    number = Value(code, WORD, "%n") & (2**63 - 1)
    _refuse(code, number.compare("ne", _word(code, front, FRONT, "arguments")))
    names = Value(code, POINTER, "%names").compare("ne", 0)
    _refuse(code, names & _word(code, front, FRONT, "out").compare("eq", 0))
    # functions without a choice have the system here, too
    system, at = _load(code, "%args", 0, WORD), _word(code, front, FRONT, "choice")
    choice = _load(code, code.at("%args", at * 8), 0, WORD)
    key = slot_of(system, choice) & _word(code, front, FRONT, "mask")
    slot = code.at(_load(code, front, 8 * FRONT.index("table"), POINTER), key * (8 * len(SLOT)))
    _refuse(code, _word(code, slot, SLOT, "system").compare("ne", system))
    _refuse(code, _word(code, slot, SLOT, "choice").compare("ne", choice))
    plan = _load(code, slot, 8 * SLOT.index("plan"), POINTER)
    _evaluate_or_decline(code, plan, code.at("%args", 8), code.at("%args", number * 8), (front, FRONT))
    module.define("front", "ptr @front(ptr %self, ptr %args, i64 %n, ptr %names) nounwind", code)


def _evaluate_or_decline(
    code: Code, plan: Value, args: Value, named: Value, owner: tuple[Value, tuple[str, ...]]
) -> None:
    result = code.emit(POINTER, f"call ptr @evaluate({plan}, {args}, {named}, ptr %names)")
    _refuse(code, code.emit(FLAG, f"icmp eq {result}, {DECLINED}"))
    code.do(f"ret {result}")
    code.begin("decline")
    words, names = owner
    function = _pointer(code, words, names, "vectorcall")
    fallback = _pointer(code, words, names, "fallback")
    code.do(f"%declined = tail call ptr {function.text}({fallback}, ptr %args, i64 %n, ptr %names)")
    code.do("ret ptr %declined")


# evaluation ----------------------------------------------------------------------------------------


def _define_evaluate(module: Module) -> None:
    """Define ``evaluate(plan, args, named, names)``: the result, null after an error, or ``DECLINED``."""
    code = Code(module)
    shell = _Evaluation(code)
    out = shell.read_keywords()
    shell.read_inputs()
    shell.split_batch()
    shell.take_or_make_outputs(out)
    shell.compute()
    shell.finish(out)
    module.define(
        "evaluate", "internal ptr @evaluate(ptr %plan, ptr %args, ptr %named, ptr %names) noinline nounwind", code
    )


class _Evaluation:
    """The parts of ``evaluate``, in the order of its methods."""

    def __init__(self, code: Code) -> None:
        self.code = code
        for name, kind, count in (
            ("data", "ptr", MOST_ARRAYS), ("steps", "i64", MOST_ARRAYS), ("made", "ptr", MOST_ARRAYS),
            ("shape", "i64", MOST_DIMENSIONS), ("rows_at", "i64", 1), ("one_out", "ptr", 1),
        ):  # fmt: skip
            code.do(f"%{name} = alloca [{count} x {kind}], align 8")
        self.inputs, self.outputs = self.word("inputs"), self.word("outputs")
        self.specs = code.at("%plan", 8 * index_of("specs"))
        self.array_type = self.word("array_type")

    def word(self, name: str) -> Value:
        """A word of the plan."""
        return _word(self.code, Value(self.code, POINTER, "%plan"), PLAN, name)

    def of_kind(self, name: str) -> Value:
        """A word of the plan for the arrays' float width."""
        return _word(self.code, self.kind, KIND, name)

    def call(self, returns: str, name: str, arguments: str) -> Value:
        """Call one of the plan's functions."""
        function = _pointer(self.code, Value(self.code, POINTER, "%plan"), PLAN, name)
        call = f"call {returns} {function.text}({arguments})"
        if returns == "void":
            self.code.do(call)
            return function
        return self.code.emit(Type(returns), call)

    def read_keywords(self) -> Value:
        """The value of ``out=``; null if there is none."""
        code = self.code
        start, some, after = code.block, code.label("some"), code.label("after")
        names = Value(code, POINTER, "%names")
        code.do(f"br {names.compare('eq', 0)}, label %{after}, label %{some}")
        code.begin(some)
        _refuse(code, _load(code, names, OBJECT["length"], WORD).compare("ne", 1))
        name = _load(code, code.at(names, self.word("items")), 0, WORD)
        _refuse(code, name.compare("ne", self.word("out")))
        given = _load(code, "%named", 0, POINTER)
        none = code.emit(FLAG, f"icmp eq {given}, {_pointer(code, _plan(code), PLAN, 'none').text}")
        value = none.where(code.const(0, POINTER), given)
        code.do(f"br label %{after}")
        end = code.block
        code.begin(after)
        return code.emit(POINTER, f"phi ptr [ null, %{start} ], [ {value.text}, %{end} ]")

    def read_inputs(self) -> None:
        """Check all inputs, and keep the addresses of their data."""
        code = self.code
        first = _load(code, "%args", 0, POINTER)
        _refuse(code, _load(code, first, TYPE, WORD).compare("ne", self.array_type))
        self.descr = _load(code, first, DESCR, WORD)
        # which float width
        here = [code.at("%plan", 8 * index_of(kind)) for kind in KINDS_OF_PLAN]
        fits = [_word(code, kind, KIND, "descr").compare("eq", self.descr) for kind in here]
        _refuse(code, ~(fits[0] | fits[1]))
        self.kind = fits[0].where(here[0], here[1])
        self.size = self.of_kind("size")
        self.lead = _load(code, first, SHAPE, POINTER)
        self.batch = _dimensions(code, first) - _word(code, self.specs, SPEC, "dimensions")
        _refuse(code, self.batch.compare("ugt", MOST_DIMENSIONS // 2))  # unsigned: negative ones, too

        def one(k: Value) -> None:
            array = _load(code, code.at("%args", k * 8), 0, POINTER)
            self.check(array, self.spec(k), CONTIGUOUS_ALIGNED, CONTIGUOUS_ALIGNED)
            code.do(f"store {_load(code, array, DATA, POINTER)}, {code.at('%data', k * 8)}, align 8")

        _repeat(code, self.inputs, one)

    def spec(self, k: Value) -> Value:
        """The specification of an array's core."""
        return self.code.at(self.specs, k * (8 * len(SPEC)))

    def check(self, array: Value, spec: Value, mask: int, flags: int) -> None:
        """Decline unless the object is an array of that core, and of the first array's dtype and batch shape."""
        code = self.code
        _refuse(code, _load(code, array, TYPE, WORD).compare("ne", self.array_type))
        _refuse(code, _load(code, array, DESCR, WORD).compare("ne", self.descr))
        _refuse(code, (_load(code, array, FLAGS, INT) & mask).compare("ne", flags))
        core = _word(code, spec, SPEC, "dimensions")
        _refuse(code, _dimensions(code, array).compare("ne", core + self.batch))
        shape = _load(code, array, SHAPE, POINTER)
        self.same(self.batch, shape, self.lead)
        self.same(core, code.at(shape, self.batch * 8), _pointer(code, spec, SPEC, "shape"))

    def same(self, count: Value, a: Value, b: Value) -> None:
        """Decline unless two lists of words are equal."""
        code = self.code

        def one(k: Value) -> None:
            _refuse(
                code, _load(code, code.at(a, k * 8), 0, WORD).compare("ne", _load(code, code.at(b, k * 8), 0, WORD))
            )

        _repeat(code, count, one)

    def split_batch(self) -> None:
        """Require the code that is needed, and compute the number of rows."""
        code = self.code
        one, many, after = code.label("one"), code.label("many"), code.label("sized")
        self.single = self.batch.compare("eq", 0)
        code.do("store i64 1, ptr %rows_at, align 8")
        code.do(f"br {self.single}, label %{one}, label %{many}")
        code.begin(one)
        _refuse(code, self.of_kind("entry").compare("eq", 0))
        code.do(f"br label %{after}")
        code.begin(many)
        _refuse(code, self.of_kind("loop").compare("eq", 0))

        def length(k: Value) -> None:
            n = _load(code, code.at(self.lead, k * 8), 0, WORD)
            code.do(f"store {n}, {code.at('%shape', k * 8)}, align 8")
            code.do(f"store {_load(code, '%rows_at', 0, WORD) * n}, ptr %rows_at, align 8")

        _repeat(code, self.batch, length)
        _refuse(code, _load(code, "%rows_at", 0, WORD).compare("sge", self.of_kind("most")))
        code.do(f"br label %{after}")
        code.begin(after)
        self.rows = _load(code, "%rows_at", 0, WORD)

    def bytes_of(self, spec: Value) -> Value:
        """The size of an array of that core."""
        return _word(self.code, spec, SPEC, "entries") * self.size * self.rows

    def take_or_make_outputs(self, out: Value) -> None:
        """Check ``out``, or make new arrays; keep the addresses of their data."""
        code = self.code
        take, make, after = code.label("take"), code.label("make"), code.label("ready")
        code.do(f"br {out.compare('eq', 0)}, label %{make}, label %{take}")
        code.begin(take)
        self._take(out)
        code.do(f"br label %{after}")
        code.begin(make)
        _repeat(code, self.outputs, self._make)
        code.do(f"br label %{after}")
        code.begin(after)

    def _take(self, out: Value) -> None:
        code = self.code
        one, several, known = code.label("one"), code.label("several"), code.label("known")
        code.do(f"store {out}, ptr %one_out, align 8")
        code.do(f"br {self.outputs.compare('eq', 1)}, label %{one}, label %{several}")
        code.begin(one)
        code.do(f"br label %{known}")
        code.begin(several)
        _refuse(code, _load(code, out, TYPE, WORD).compare("ne", self.word("tuple_type")))
        _refuse(code, _load(code, out, OBJECT["length"], WORD).compare("ne", self.outputs))
        items = code.at(out, self.word("items"))
        end = code.block
        code.do(f"br label %{known}")
        code.begin(known)
        targets = code.emit(POINTER, f"phi ptr [ %one_out, %{one} ], [ {items.text}, %{end} ]")
        mask, flags = CONTIGUOUS_ALIGNED | WRITEABLE | WARN_ON_WRITE, CONTIGUOUS_ALIGNED | WRITEABLE

        def one_target(k: Value) -> None:
            array, number = _load(code, code.at(targets, k * 8), 0, POINTER), self.inputs + k
            spec = self.spec(number)
            self.check(array, spec, mask, flags)
            data = _load(code, array, DATA, POINTER)
            begin = code.emit(WORD, f"ptrtoint {data} to i64")
            end = begin + self.bytes_of(spec)

            def apart(j: Value) -> None:  # from the inputs, and from the outputs before
                other = _load(code, code.at("%data", j * 8), 0, WORD)
                overlap = other.compare("ult", end) & begin.compare("ult", other + self.bytes_of(self.spec(j)))
                _refuse(code, overlap)

            _repeat(code, number, apart)
            code.do(f"store {data}, {code.at('%data', number * 8)}, align 8")

        _repeat(code, self.outputs, one_target)

    def _make(self, k: Value) -> None:
        """A new array for an output."""
        code, number = self.code, self.inputs + k
        spec = self.spec(number)
        own, core = _word(code, spec, SPEC, "dimensions"), _pointer(code, spec, SPEC, "shape")
        many, after, start = code.label("many"), code.label("shaped"), code.block
        code.do(f"br {self.single}, label %{after}, label %{many}")
        code.begin(many)
        # larger ones are aligned with care (sixd.runtime.routine.new_array)
        large, go = code.label("large"), code.label("go")
        code.do(f"br {self.bytes_of(spec).compare('sgt', CACHE)}, label %{large}, label %{go}, !prof !0")
        code.begin(large)
        self._drop(k)
        code.do("br label %decline")
        code.begin(go)
        tail = code.at("%shape", self.batch * 8)

        def length(j: Value) -> None:
            code.do(f"store {_load(code, code.at(core, j * 8), 0, WORD)}, {code.at(tail, j * 8)}, align 8")

        _repeat(code, own, length)
        end = code.block
        code.do(f"br label %{after}")
        code.begin(after)
        shape = code.emit(POINTER, f"phi ptr [ {core.text}, %{start} ], [ %shape, %{end} ]")
        count, number_of_type = _narrow(code, own + self.batch), _narrow(code, self.of_kind("type_number"))
        arguments = f"ptr {self._type_pointer()}, {count}, {shape}, {number_of_type}"
        array = self.call("ptr", "array_new", f"{arguments}, ptr null, ptr null, i32 0, i32 0, ptr null")
        bad, good = code.label("bad"), code.label("good")
        code.do(f"br {array.compare('eq', 0)}, label %{bad}, label %{good}, !prof !0")
        code.begin(bad)
        self._drop(k)
        code.do("ret ptr null")
        code.begin(good)
        code.do(f"store {array}, {code.at('%made', k * 8)}, align 8")
        code.do(f"store {_load(code, array, DATA, POINTER)}, {code.at('%data', number * 8)}, align 8")

    def _type_pointer(self) -> str:
        return _pointer(self.code, _plan(self.code), PLAN, "array_type").text

    def _drop(self, count: Value) -> None:
        """Free the first ``count`` arrays that were made."""
        code = self.code

        def free(j: Value) -> None:
            self.call("void", "decref", f"{_load(code, code.at('%made', j * 8), 0, POINTER)}")

        _repeat(code, count, free)

    def compute(self) -> None:
        """Call the code of one row, or of batches."""
        code = self.code
        one, many, after = code.label("one"), code.label("many"), code.label("computed")
        code.do(f"br {self.single}, label %{one}, label %{many}")
        code.begin(one)
        entry = _pointer(code, self.kind, KIND, "entry")
        context = _pointer(code, self.kind, KIND, "entry_context")
        first = code.emit(FLAG, f"call zeroext i1 {entry.text}(ptr %data, {context})")
        code.do(f"br label %{after}")
        code.begin(many)
        second, held = self._compute_batch()
        end = code.block
        code.do(f"br label %{after}")
        code.begin(after)
        self.suspect = code.emit(FLAG, f"phi i1 [ {first.text}, %{one} ], [ {second.text}, %{end} ]")
        self.held = code.emit(POINTER, f"phi ptr [ null, %{one} ], [ {held.text}, %{end} ]")

    def _compute_batch(self) -> tuple[Value, Value]:
        """Whether a row is suspect, and the object that was referenced meanwhile, or null."""
        code = self.code
        context, loop = _pointer(code, self.kind, KIND, "loop_context"), _pointer(code, self.kind, KIND, "loop")

        def step(k: Value) -> None:
            width = _word(code, self.spec(k), SPEC, "entries") * self.size
            code.do(f"store {width}, {code.at('%steps', k * 8)}, align 8")

        _repeat(code, self.inputs + self.outputs, step)
        before = _load(code, context, 0, WORD)  # the number of calls with a suspect result
        run = f"call void {loop.text}(ptr %data, ptr %rows_at, ptr %steps, {context})"
        short, long, after = code.label("short"), code.label("long"), code.label("ran")
        code.do(f"br {self.rows.compare('slt', self.of_kind('long'))}, label %{short}, label %{long}")
        code.begin(short)
        code.do(run)
        code.do(f"br label %{after}")
        code.begin(long)
        # other threads may run now, and drop the plan
        owner = _pointer(code, _plan(code), PLAN, "owner")
        self.call("void", "incref", f"{owner}")
        state = self.call("ptr", "save_thread", "")
        code.do(run)
        self.call("void", "restore_thread", f"{state}")
        code.do(f"br label %{after}")
        code.begin(after)
        held = code.emit(POINTER, f"phi ptr [ null, %{short} ], [ {owner.text}, %{long} ]")
        return _load(code, context, 0, WORD).compare("ne", before), held

    def finish(self, out: Value) -> None:
        """Return ``out``, or the new arrays: those without dimensions as scalars, several as a tuple."""
        code = self.code
        bad, good, drop = code.label("bad"), code.label("good"), code.label("drop")
        given, made, taken = out.compare("ne", 0), code.label("made"), code.label("taken")
        code.do(f"br {self.suspect}, label %{bad}, label %{good}, !prof !0")
        ends: list[tuple[str, str]] = []  # result and block

        def leave(result: str) -> None:
            ends.append((result, code.block))
            code.do("br label %leave")

        code.begin(bad)
        declined = code.label("declined")
        code.do(f"br {given}, label %{declined}, label %{drop}")
        code.begin(drop)
        self._drop(self.outputs)
        code.do(f"br label %{declined}")
        code.begin(declined)
        leave(DECLINED)
        code.begin(good)
        code.do(f"br {given}, label %{taken}, label %{made}")
        code.begin(taken)
        self.call("void", "incref", f"{out}")
        leave(out.text)
        code.begin(made)
        one, several = code.label("one"), code.label("several")
        code.do(f"br {self.outputs.compare('eq', 1)}, label %{one}, label %{several}")
        code.begin(one)
        leave(self._result(code.const(0, WORD)).text)
        code.begin(several)
        pack = self.call("ptr", "tuple_new", f"{self.outputs}")
        fill, failed = code.label("fill"), code.label("failed")
        code.do(f"br {pack.compare('eq', 0)}, label %{failed}, label %{fill}, !prof !0")
        code.begin(failed)
        self._drop(self.outputs)
        leave("null")
        code.begin(fill)

        def put(k: Value) -> None:
            self.call("i32", "tuple_set", f"{pack}, {k}, {self._result(k)}")

        _repeat(code, self.outputs, put)
        leave(pack.text)
        code.begin("leave")
        result = code.emit(POINTER, "phi ptr " + ", ".join(f"[ {text}, %{block} ]" for text, block in ends))
        free, end = code.label("free"), code.label("end")
        code.do(f"br {self.held.compare('eq', 0)}, label %{end}, label %{free}")
        code.begin(free)
        self.call("void", "decref", f"{self.held}")
        code.do(f"br label %{end}")
        code.begin(end)
        code.do(f"ret {result}")
        code.begin("decline")
        code.do(f"ret ptr {DECLINED}")

    def _result(self, k: Value) -> Value:
        """A new array, or its scalar."""
        code = self.code
        array = _load(code, code.at("%made", k * 8), 0, POINTER)
        scalar, after, start = code.label("scalar"), code.label("result"), code.block
        number = _dimensions(code, array)
        code.do(f"br {number.compare('eq', 0)}, label %{scalar}, label %{after}")
        code.begin(scalar)
        value = self.call("ptr", "array_return", f"{array}")
        code.do(f"br label %{after}")
        code.begin(after)
        return code.emit(POINTER, f"phi ptr [ {array.text}, %{start} ], [ {value.text}, %{scalar} ]")


# words ---------------------------------------------------------------------------------------------


def _plan(code: Code) -> Value:
    return Value(code, POINTER, "%plan")


def _load(code: Code, base: Value | str, byte: int, type: Type) -> Value:
    return code.load(type, code.at(base, byte), "align 4")


def _word(code: Code, table: Value, names: tuple[str, ...], name: str) -> Value:
    return _load(code, table, 8 * names.index(name), WORD)


def _pointer(code: Code, table: Value, names: tuple[str, ...], name: str) -> Value:
    return _load(code, table, 8 * names.index(name), POINTER)


def _dimensions(code: Code, array: Value) -> Value:
    return code.emit(WORD, f"sext {_load(code, array, NDIM, INT)} to i64")


def _narrow(code: Code, word: Value) -> Value:
    return code.emit(INT, f"trunc {word} to i32")


def _refuse(code: Code, condition: Value) -> None:
    """Go to the block ``decline`` if the condition holds, else continue."""
    after = code.label("ok")
    code.do(f"br {condition}, label %decline, label %{after}, !prof !0")
    code.begin(after)


def _repeat(code: Code, count: Value, write: Callable[[Value], None]) -> None:
    """Append a loop: what ``write(k)`` appends, for k from 0 to ``count`` - 1."""
    top, after, before = code.label("top"), code.label("after"), code.block
    code.do(f"br {count.compare('sgt', 0)}, label %{top}, label %{after}")
    code.begin(top)
    k = code.emit(WORD, "phi")
    at = len(code.lines) - 1
    write(k)
    following = k + 1
    code.lines[at] = f"  {k.text} = phi i64 [ 0, %{before} ], [ {following.text}, %{code.block} ]"
    code.do(f"br {following.compare('slt', count)}, label %{top}, label %{after}")
    code.begin(after)
