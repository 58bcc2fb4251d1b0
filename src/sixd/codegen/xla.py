"""Handlers of XLA's foreign function interface, by which JAX calls compiled programs: LLVM code, no C++.

A handler gets a call frame (``sixd.codegen.xla_frame``) with the data of the arrays and one attribute, an array of
words: a key, the number of rows, for each input and output the distance of its rows (0 repeats one row for all), and
further arguments of a kernel, which follow the number of rows. It looks the key's plan up in a table of this process,
so that programs that XLA keeps on disk hold no addresses. ``sixd.runtime.xla`` makes the table and the plans.
"""

from __future__ import annotations

from sixd.codegen.llvm.machine import CONTEXT, MOST_ARRAYS, NO_MEMORY
from sixd.codegen.xla_frame import API, ARRAY, BUFFER, ERRORS, FRAME, GRAPHS, METADATA

ROOT = 0x51D0_5EED_0B5C_0DE5  # stands for the address of the roots in an image, which is put there when it is loaded
# words of the process: the table, the version of XLA's interface, functions of NVIDIA's driver
ROOTS = ("table", "major", "minor", "cuLaunchKernel", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2")
# words of a plan: the code of one row (form 0) or of many (form 1), and the words of its context; or for GPUs the bytes
# of shared memory and the threads of a block, the number of devices, and then for each of them those in DEVICE
PLAN = ("form", "code", "context")
DEVICE_PLAN = ("shared", "threads", "devices")
DEVICE = ("function", "counter", "context")
MOST_WORDS = 8  # of a kernel's arguments, in addition to those of every kernel

MESSAGES = {
    "missing": "sixd.jax: this program was compiled in another process, or its model is gone. Trace the function again "
    "in this process: call the jitted function itself.",
    "memory": "sixd.jax: there is no memory for the values that compiled code keeps.",
    "launch": "sixd.jax: NVIDIA's driver refused to launch a kernel.",
    "device": "sixd.jax: the code is not loaded on this GPU.",
}


def _at(name: str, base: str, offset: int | str) -> str:
    return f"  %{name} = getelementptr i8, ptr {base}, i64 {offset}"


def _field(name: str, base: str, offset: int, kind: str = "ptr") -> str:
    return (
        f"{_at(f'{name}.at', base, offset)}\n  %{name} = load {kind}, ptr %{name}.at, align {4 if kind == 'i32' else 8}"
    )


def _word(name: str, base: str, k: int, kind: str = "i64") -> str:
    return _field(name, base, 8 * k, kind)


def _texts() -> str:
    lines = []
    for name, text in MESSAGES.items():
        data = text.encode() + b"\0"
        escaped = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02x}" for b in data)
        lines.append(f'@{name} = private constant [{len(data)} x i8] c"{escaped}"')
    return "\n".join(lines)


def _common() -> str:
    """``find``, the plan of a key or null; ``fail``, an error of XLA; ``describe``, a handler's metadata."""
    return f"""
@root = internal global i64 {ROOT}
{_texts()}

define internal ptr @roots() noinline {{
  %address = load volatile i64, ptr @root, align 8
  %pointer = inttoptr i64 %address to ptr
  ret ptr %pointer
}}

define internal ptr @find(ptr %words) {{
start:
  %roots = call ptr @roots()
  %table = load ptr, ptr %roots, align 8
  %key = load i64, ptr %words, align 8
  %mask = load i64, ptr %table, align 8
  %first = and i64 %key, %mask
  br label %look
look:
  %slot = phi i64 [ %first, %start ], [ %next, %other ]
  %double = shl i64 %slot, 1
  %index = add i64 %double, 1
  %entry = getelementptr i64, ptr %table, i64 %index
  %found = load i64, ptr %entry, align 8
  %same = icmp eq i64 %found, %key
  br i1 %same, label %hit, label %miss
hit:
{_word("plan", "%entry", 1, "ptr")}
  ret ptr %plan
miss:
  %empty = icmp eq i64 %found, 0
  br i1 %empty, label %none, label %other
other:
  %after = add i64 %slot, 1
  %next = and i64 %after, %mask
  br label %look
none:
  ret ptr null
}}

define internal ptr @fail(ptr %frame, ptr %message, i32 %code) {{
{_field("api", "%frame", FRAME["api"])}
{_field("create", "%api", API["Error_Create"])}
  %args = alloca [4 x i64], align 8
  store i64 28, ptr %args, align 8
{_at("extension", "%args", 8)}
  store ptr null, ptr %extension, align 8
{_at("text", "%args", 16)}
  store ptr %message, ptr %text, align 8
{_at("number", "%args", 24)}
  store i32 %code, ptr %number, align 8
  %error = call ptr %create(ptr %args)
  ret ptr %error
}}

define internal ptr @describe(ptr %frame, ptr %extension, i32 %traits) {{
start:
{_field("metadata", "%extension", METADATA["metadata"])}
{_at("major.to", "%metadata", METADATA["major"])}
{_at("minor.to", "%metadata", METADATA["minor"])}
{_at("traits.to", "%metadata", METADATA["traits"])}
  store i32 %traits, ptr %traits.to, align 4
{_field("api", "%frame", FRAME["api"])}
  %none = icmp eq ptr %api, null
  br i1 %none, label %stored, label %given
given:
{_field("major", "%api", API["version"], "i32")}
{_field("minor", "%api", API["version"] + 4, "i32")}
  store i32 %major, ptr %major.to, align 4
  store i32 %minor, ptr %minor.to, align 4
  ret ptr null
stored:
  %roots = call ptr @roots()
{_word("major0", "%roots", ROOTS.index("major"), "i32")}
{_word("minor0", "%roots", ROOTS.index("minor"), "i32")}
  store i32 %major0, ptr %major.to, align 4
  store i32 %minor0, ptr %minor.to, align 4
  ret ptr null
}}

define internal void @gather(ptr %list, i64 %count, ptr %to) {{
start:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %copy, label %done
copy:
  %k = phi i64 [ 0, %start ], [ %after, %copy ]
  %item = getelementptr ptr, ptr %list, i64 %k
  %buffer = load ptr, ptr %item, align 8
{_field("data", "%buffer", BUFFER["data"])}
  %slot = getelementptr ptr, ptr %to, i64 %k
  store ptr %data, ptr %slot, align 8
  %after = add i64 %k, 1
  %more = icmp slt i64 %after, %count
  br i1 %more, label %copy, label %done
done:
  ret void
}}
"""


def _begin(traits: int) -> str:
    """The start of a handler: ``%words``, the attribute; ``%plan``; ``%data``, the addresses of all arrays."""
    return f"""
{_field("extension", "%frame", FRAME["extension"])}
  %asked = icmp ne ptr %extension, null
  br i1 %asked, label %meta, label %run
meta:
  %described = call ptr @describe(ptr %frame, ptr %extension, i32 {traits})
  ret ptr %described
run:
{_field("attributes", "%frame", FRAME["attributes"])}
  %attribute = load ptr, ptr %attributes, align 8
{_field("size", "%attribute", ARRAY["size"], "i64")}
{_field("words", "%attribute", ARRAY["data"])}
  %plan = call ptr @find(ptr %words)
  %missing = icmp eq ptr %plan, null
  br i1 %missing, label %unknown, label %known
unknown:
  %no_plan = call ptr @fail(ptr %frame, ptr @missing, i32 {ERRORS["not found"]})
  ret ptr %no_plan
known:
{_word("rows", "%words", 1)}
{_at("steps", "%words", 16)}
{_field("inputs", "%frame", FRAME["inputs"], "i64")}
{_field("outputs", "%frame", FRAME["outputs"], "i64")}
{_field("args", "%frame", FRAME["args"])}
{_field("rets", "%frame", FRAME["rets"])}
  call void @gather(ptr %args, i64 %inputs, ptr %data)
  %results = getelementptr ptr, ptr %data, i64 %inputs
  call void @gather(ptr %rets, i64 %outputs, ptr %results)
"""


def _cpu() -> str:
    words = len(CONTEXT)
    copies = "\n".join(
        f"{_word(f'c{k}', '%context0', k)}\n{_at(f'd{k}', '%context', 8 * k)}\n  store i64 %c{k}, ptr %d{k}, align 8"
        for k in range(1, words)
    )
    return f"""
define ptr @cpu(ptr %frame) {{
start:
  %data = alloca [{MOST_ARRAYS} x ptr], align 8
  %context = alloca [{words} x i64], align 8
  %dims = alloca [1 x i64], align 8
{_begin(0)}
{_word("form", "%plan", PLAN.index("form"))}
{_word("code", "%plan", PLAN.index("code"), "ptr")}
{_word("context0", "%plan", PLAN.index("context"), "ptr")}
  store i64 0, ptr %context, align 8
{copies}
  store i64 %rows, ptr %dims, align 8
  %many = icmp ne i64 %form, 0
  br i1 %many, label %loop, label %row
row:
  %suspect = call i1 %code(ptr %data, ptr %context)
  br label %end
loop:
  call void %code(ptr %data, ptr %dims, ptr %steps, ptr %context)
  br label %end
end:
  %count = load i64, ptr %context, align 8
  %lacking = icmp sge i64 %count, {NO_MEMORY}
  br i1 %lacking, label %exhausted, label %good
good:
  ret ptr null
exhausted:
  %no_memory = call ptr @fail(ptr %frame, ptr @memory, i32 {ERRORS["exhausted"]})
  ret ptr %no_memory
}}
"""


def _ask() -> str:
    """``ask``: call a function of XLA's table, whose result is the last of four words."""
    return f"""
define internal ptr @ask(ptr %frame, i64 %offset, i64 %size, ptr %args) {{
{_field("api", "%frame", FRAME["api"])}
  %function.at = getelementptr i8, ptr %api, i64 %offset
  %function = load ptr, ptr %function.at, align 8
{_field("context", "%frame", FRAME["context"])}
  store i64 %size, ptr %args, align 8
{_at("extension", "%args", 8)}
  store ptr null, ptr %extension, align 8
{_at("given", "%args", 16)}
  store ptr %context, ptr %given, align 8
{_at("found", "%args", 24)}
  store i64 0, ptr %found, align 8
  %error = call ptr %function(ptr %args)
  ret ptr %error
}}

"""


def _stream_and_device() -> str:
    """The start of ``cuda``: the stream of the call and the number of its device, asked of XLA."""
    most = 2 * MOST_ARRAYS + 2 + MOST_WORDS
    return f"""define ptr @cuda(ptr %frame) {{
start:
  %data = alloca [{most} x i64], align 8
  %pointers = alloca [{most} x ptr], align 8
  %stream.args = alloca [4 x i64], align 8
  %device.args = alloca [4 x i64], align 8
  %before = alloca [1 x ptr], align 8
{_begin(GRAPHS)}
  %nothing = icmp sle i64 %rows, 0
  br i1 %nothing, label %good, label %stream
stream:
  %no_stream = call ptr @ask(ptr %frame, i64 {API["Stream_Get"]}, i64 32, ptr %stream.args)
  %has_stream = icmp eq ptr %no_stream, null
  br i1 %has_stream, label %device, label %refused
refused:
  ret ptr %no_stream
device:
{_word("stream.number", "%stream.args", 3, "ptr")}
  %no_device = call ptr @ask(ptr %frame, i64 {API["DeviceOrdinal_Get"]}, i64 28, ptr %device.args)
  %has_device = icmp eq ptr %no_device, null
  br i1 %has_device, label %plan.device, label %lost
lost:
  ret ptr %no_device
"""


def _device_entry() -> str:
    """The words of the plan for that device: ``%function``, ``%counter`` and ``%own``, its context."""
    return f"""plan.device:
{_word("ordinal", "%device.args", 3, "i32")}
  %number = zext i32 %ordinal to i64
{_word("devices", "%plan", DEVICE_PLAN.index("devices"))}
  %within = icmp ult i64 %number, %devices
  br i1 %within, label %loaded, label %absent
absent:
  %no_code = call ptr @fail(ptr %frame, ptr @device, i32 {ERRORS["not found"]})
  ret ptr %no_code
loaded:
  %skipped = mul i64 %number, {8 * len(DEVICE)}
  %entry.offset = add i64 %skipped, {8 * len(DEVICE_PLAN)}
  %entry = getelementptr i8, ptr %plan, i64 %entry.offset
{_word("function", "%entry", DEVICE.index("function"), "ptr")}
{_word("counter", "%entry", DEVICE.index("counter"))}
{_word("own", "%entry", DEVICE.index("context"), "ptr")}
  %there = icmp ne ptr %function, null
  br i1 %there, label %arguments, label %absent
"""


def _kernel_arguments() -> str:
    """The kernel's arguments in ``%data``, after the addresses: distances, further words, the counter; their addresses
    in ``%pointers``."""
    return """arguments:
  %arrays = add i64 %inputs, %outputs
  br label %distances
distances:
  %k = phi i64 [ 0, %arguments ], [ %k.after, %distances ]
  %step.at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step.at, align 8
  %k.to = add i64 %k, %arrays
  %step.to = getelementptr i64, ptr %data, i64 %k.to
  store i64 %step, ptr %step.to, align 8
  %k.after = add i64 %k, 1
  %k.more = icmp slt i64 %k.after, %arrays
  br i1 %k.more, label %distances, label %rest
rest:
  %twice = shl i64 %arrays, 1
  %rows.to = getelementptr i64, ptr %data, i64 %twice
  store i64 %rows, ptr %rows.to, align 8
  %more.first = add i64 %arrays, 2
  %more.some = icmp slt i64 %more.first, %size
  br i1 %more.some, label %more, label %end
more:
  %i = phi i64 [ %more.first, %rest ], [ %i.after, %more ]
  %more.at = getelementptr i64, ptr %words, i64 %i
  %more.word = load i64, ptr %more.at, align 8
  %i.shifted = add i64 %i, %arrays
  %i.to = sub i64 %i.shifted, 1
  %more.to = getelementptr i64, ptr %data, i64 %i.to
  store i64 %more.word, ptr %more.to, align 8
  %i.after = add i64 %i, 1
  %i.more = icmp slt i64 %i.after, %size
  br i1 %i.more, label %more, label %end
end:
  %all = add i64 %size, %arrays
  %last = sub i64 %all, 1
  %counter.to = getelementptr i64, ptr %data, i64 %last
  store i64 %counter, ptr %counter.to, align 8
  br label %point
point:
  %j = phi i64 [ 0, %end ], [ %j.after, %point ]
  %value = getelementptr i64, ptr %data, i64 %j
  %pointer.to = getelementptr ptr, ptr %pointers, i64 %j
  store ptr %value, ptr %pointer.to, align 8
  %j.after = add i64 %j, 1
  %j.more = icmp sle i64 %j.after, %last
  br i1 %j.more, label %point, label %launch
"""


def _launch() -> str:
    """The launch of one thread for each row, in the device's context, and the end of ``cuda``."""
    return f"""launch:
{_word("shared", "%plan", DEVICE_PLAN.index("shared"), "i32")}
{_word("threads", "%plan", DEVICE_PLAN.index("threads"))}
  %full = add i64 %rows, %threads
  %less = sub i64 %full, 1
  %blocks.long = udiv i64 %less, %threads
  %blocks = trunc i64 %blocks.long to i32
  %threads.short = trunc i64 %threads to i32
  %roots = call ptr @roots()
{_word("push", "%roots", ROOTS.index("cuCtxPushCurrent_v2"), "ptr")}
{_word("pop", "%roots", ROOTS.index("cuCtxPopCurrent_v2"), "ptr")}
{_word("start_kernel", "%roots", ROOTS.index("cuLaunchKernel"), "ptr")}
  %pushed = call i32 %push(ptr %own)
  %failed = call i32 %start_kernel(
    ptr %function, i32 %blocks, i32 1, i32 1, i32 %threads.short, i32 1, i32 1, i32 %shared,
    ptr %stream.number, ptr %pointers, ptr null
  )
  %popped = call i32 %pop(ptr %before)
  %wrong = or i32 %pushed, %failed
  %is_wrong = icmp ne i32 %wrong, 0
  br i1 %is_wrong, label %bad, label %good
bad:
  %no_launch = call ptr @fail(ptr %frame, ptr @launch, i32 {ERRORS["internal"]})
  ret ptr %no_launch
good:
  ret ptr null
}}
"""


def emit_handlers() -> str:
    """The LLVM module with the handlers ``cpu`` and ``cuda``."""
    cuda = _ask() + _stream_and_device() + _device_entry() + _kernel_arguments() + _launch()
    return _common() + _cpu() + cuda
