"""Compiles the kernels ahead of time: from their source and signatures.txt to library.abi3.so.

numba compiles each kernel for each of its recorded signatures. Of the LLVM module that it leaves, only this function is
kept, behind a wrapper that takes and returns units of 8 bytes; caller.c does the rest. What is private to numba is used
here only, where the package is built.
"""

import importlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "rankloom"
KERNELS = PACKAGE / "_kernels"
#: The processors that code is made for. None of them joins a multiplication with an addition, which would change bits.
LEVELS = {"v2": "nehalem", "v3": "haswell"} if platform.machine() in ("x86_64", "AMD64") else {"base": "generic"}
#: What compiled code may take from elsewhere: the C library, and the memory of caller.c.
KNOWN = {
    *("atan2", "exp", "hypot", "log", "pow", "sqrt", "memset", "memcpy", "memmove", "numba_attempt_nocopy_reshape"),
    *("NRT_MemInfo_alloc_aligned", "NRT_MemInfo_alloc_safe_aligned"),
    *("NRT_MemInfo_new_varsize_dtor", "NRT_MemInfo_call_dtor"),
}
TOKEN = re.compile(
    r"(?P<tuple>[\w.]*)\(|(?P<end>\))"
    r"|(?P<kind>[a-z])(?P<bytes>\d)(?:\[(?P<ndim>\d)\](?P<strided>s?)(?P<written>w?))?"
)


def recorded():
    """Return the signatures to compile, by kernel: those that no other one covers."""
    found = {}
    for line in (KERNELS / "signatures.txt").read_text("utf-8").splitlines():
        name, _, signature = line.partition(" ")
        found.setdefault(name, set()).add(signature)
    return {name: sorted(s for s in all_of if not any(covers(o, s) for o in all_of)) for name, all_of in found.items()}


def covers(other, signature):
    """Return True if code for `other` takes all that has `signature`: arrays that may be written are also read."""
    one, two = TOKEN.findall(other), TOKEN.findall(signature)
    return (
        one != two
        and len(one) == len(two)
        and all(a[:-1] == b[:-1] and a[-1] <= b[-1] for a, b in zip(one, two, strict=True))
    )


def imported(name):
    """Return what a dotted name below `rankloom._kernels` means."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f"rankloom._kernels.{module}"), attribute)


def load_package_alone():
    """Let `rankloom._kernels` be imported without the package around it, which needs more than numba and NumPy."""
    package = ModuleType("rankloom")
    package.__path__ = [str(PACKAGE)]
    sys.modules["rankloom"] = package


# --- In a process that compiles: numba is imported after its environment is set.


def numba_types(signature):
    """Return numba's types of a recorded signature."""
    import numpy as np
    from numba import types
    from numba.np.numpy_support import from_dtype

    stack = [("", [])]
    for token in TOKEN.finditer(signature):
        if token["tuple"] is not None:
            stack.append((token["tuple"], []))
        elif token["end"]:
            name, parts = stack.pop()
            kind = types.BaseTuple.from_types(parts, imported(name) if name else None)
            stack[-1][1].append(kind)
        else:
            kind = from_dtype(np.dtype(token["kind"] + token["bytes"]))
            if token["ndim"]:
                layout = "A" if token["strided"] else "C"
                kind = types.Array(kind, int(token["ndim"]), layout, readonly=not token["written"])
            stack[-1][1].append(kind)
    return tuple(stack[0][1])


def described(kind):
    """Return the types of a result as caller.c reads them."""
    import numpy as np
    from numba import types
    from numba.np.numpy_support import as_dtype

    if isinstance(kind, types.NoneType):
        return ""
    if isinstance(kind, types.BaseTuple):
        return "".join(map(described, kind))
    ndim = kind.ndim if isinstance(kind, types.Array) else 0
    if ndim and kind.layout != "C":
        raise TypeError(f"A kernel must return arrays in C order, not {kind}.")
    dtype = np.dtype(as_dtype(kind.dtype if ndim else types.unliteral(kind)))
    return f"{dtype.kind}{dtype.itemsize}{ndim} "


def leaves(signature):
    """Return the types of arguments as caller.c reads them: tuples are taken apart."""
    access = {"": " ", "s": "s", "w": "w", "sw": "b"}
    return "".join(
        f"{t['kind']}{t['bytes']}{t['ndim'] or 0}{access[(t['strided'] or '') + (t['written'] or '')]}"
        for t in TOKEN.finditer(signature)
        if t["kind"]
    )


def stop_before_machine_code():
    """Let numba stop at LLVM's modules: machine code of each function would be called by nobody."""
    from numba import _dynfunc
    from numba.core.codegen import JITCodeLibrary
    from numba.core.cpu import CPUContext
    from numba.core.dispatcher import Dispatcher

    def executable(self, library, description, environment):
        library._ensure_finalized()
        name = description.qualname.rpartition(".")[2]
        return _dynfunc.make_function(description.lookup_module(), name, "", 0, environment, (library,))

    CPUContext.get_executable = executable
    JITCodeLibrary._finalize_specific = Dispatcher.enable_caching = lambda self: None


def wrapper(compiled, symbol):
    """Return a module with a function that calls a compiled one: units of 8 bytes in, a status out."""
    from llvmlite import ir

    context, unit = compiled.target_context, ir.IntType(64)
    module = context.create_module(symbol)
    callee = context.declare_function(module, compiled.fndesc)
    result, failure, *arguments = callee.args
    units = unit.as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [units, units, failure.type]), symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    given = [
        from_unit(builder, builder.load(builder.gep(function.args[0], [unit(at)])), argument.type)
        for at, argument in enumerate(arguments)
    ]
    place = builder.alloca(result.type.pointee)
    builder.store(ir.Constant(result.type.pointee, None), place)
    status = builder.call(callee, [place, function.args[2], *given])
    for at, value in enumerate(units_of(builder, builder.load(place))):
        builder.store(value, builder.gep(function.args[1], [unit(at)]))
    builder.ret(status)
    return module


def from_unit(builder, value, kind):
    """Return the argument that a unit holds."""
    from llvmlite import ir

    if isinstance(kind, ir.PointerType):
        return builder.inttoptr(value, kind)
    if isinstance(kind, ir.DoubleType):
        return builder.bitcast(value, kind)
    if isinstance(kind, ir.FloatType):
        return builder.bitcast(builder.trunc(value, ir.IntType(32)), kind)
    return value if kind.width == 64 else builder.trunc(value, kind)


def units_of(builder, value):
    """Yield the units of a result, in order."""
    from llvmlite import ir

    kind, unit = value.type, ir.IntType(64)
    if isinstance(kind, ir.Aggregate):
        for at in range(len(kind)):
            yield from units_of(builder, builder.extract_value(value, at))
    elif isinstance(kind, ir.PointerType):
        yield builder.ptrtoint(value, unit)
    elif isinstance(kind, ir.DoubleType):
        yield builder.bitcast(value, unit)
    elif isinstance(kind, ir.FloatType):
        yield builder.zext(builder.bitcast(value, ir.IntType(32)), unit)
    else:
        yield value if kind.width == 64 else builder.zext(value, unit)


def object_code(compiled, symbol, machine):
    """Return the object file of a compiled function: everything in it but the wrapper is internal, or gone."""
    from llvmlite import binding

    module = compiled.library._final_module.clone()
    module.link_in(binding.parse_assembly(str(wrapper(compiled, symbol))))
    for defined in (*module.functions, *module.global_variables):
        if not defined.is_declaration and defined.name != symbol:
            defined.linkage = "internal"
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=1))
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, builder)
    missing = {
        f.name
        for f in (*module.functions, *module.global_variables)
        if f.is_declaration and not f.name.startswith("llvm.")
    }
    if missing - KNOWN:
        raise ValueError(f"{symbol} needs {', '.join(sorted(missing - KNOWN))}, which caller.c does not have.")
    return machine.emit_object(module)


def compile_kernel(name, signatures, level, folder):
    """Write an object file for each signature of a kernel, and a file of the types of its results."""
    from llvmlite import binding

    dispatcher = imported(name).dispatcher
    dispatcher.targetoptions["no_cpython_wrapper"] = True
    target = binding.Target.from_triple(binding.get_process_triple())
    machine = target.create_target_machine(cpu=LEVELS[level], opt=3, reloc="pic", codemodel="default")
    results = []
    for at, signature in enumerate(signatures):
        types = numba_types(signature)
        dispatcher.compile(types)
        compiled = dispatcher.overloads[types]
        symbol = f"{name.replace('.', '_')}_{at}_{level}"
        (folder / f"{symbol}.o").write_bytes(object_code(compiled, symbol, machine))
        results.append(described(compiled.signature.return_type))
    (folder / f"{name}.{level}.results").write_text("\n".join(results), "utf-8")


def work(level, folder):
    """Compile, at one level, the kernels that no other process has claimed."""
    load_package_alone()
    stop_before_machine_code()
    for name, signatures in recorded().items():
        try:
            (folder / f"{name}.{level}").touch(exist_ok=False)
        except FileExistsError:
            continue
        compile_kernel(name, signatures, level, folder)


# --- In the process that starts these, and links what they leave.


def own_level():
    """Return the level of this processor."""
    from llvmlite import binding

    if "v3" not in LEVELS:
        return next(iter(LEVELS))
    has = binding.get_host_cpu_features()
    return "v3" if all(has.get(name) for name in ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")) else "v2"


def compile_all(levels, folder):
    """Compile all kernels at several levels, in as many processes as there are processors."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for level in levels:
        environment = {
            **os.environ,
            "RANKLOOM_KERNELS": "jit",
            "NUMBA_CPU_NAME": LEVELS[level],
            "NUMBA_CPU_FEATURES": "",
            "PYTHONPATH": os.pathsep.join(sys.path),  # where numba is while a package is built
        }
        command = [sys.executable, __file__, "work", level, folder]
        started = [subprocess.Popen(command, env=environment) for _ in range(n)]
        codes = [process.wait() for process in started]
        if any(codes):
            raise SystemExit("The kernels could not be compiled. RANKLOOM_KERNELS=jit installs the package without.")


def source(levels, folder, digest):
    """Return the C source of the library: the table of kernels, and what calls them."""
    functions, tables, kernels, types = [], [], [], []
    for name, signatures in recorded().items():
        symbol, rows = name.replace(".", "_"), []
        results = (folder / f"{name}.{levels[0]}.results").read_text("utf-8").split("\n")
        for at, (arguments, result) in enumerate(zip(map(leaves, signatures), results, strict=True)):
            codes = [f"{symbol}_{at}_{level}" for level in levels]
            rows.append(f'{{"{arguments}", "{result}", {{{", ".join(codes)}}}}}')
            functions += codes
            types.append((arguments, result))
        tables.append(f"static const Signature of_{symbol}[] = {{{', '.join(rows)}}};")
        kernels.append(f'{{"{name}", {len(rows)}, of_{symbol}}}')
    limits = {
        "LEVELS": len(levels),
        "MAX_VALUES": max(len(arguments) // 4 for arguments, _ in types),
        "MAX_UNITS": max(n_units(arguments) for arguments, _ in types),
        "MAX_RESULTS": max(1, *(n_units(result) for _, result in types)),
    }
    names = ", ".join(f'"{level}"' for level in levels)
    lines = [
        *(f"#define {name} {value}" for name, value in limits.items()),
        f'#include "{HERE / "caller.c"}"',
        f"Code {', '.join(functions)};",
        *tables,
        f"const Kernel kernels[] = {{{', '.join(kernels)}, {{0}}}};",
        f'const char levels[LEVELS][8] = {{{names}}}, digest[] = "{digest}";',
        "",
    ]
    return "\n".join(lines)


def n_units(types):
    """Return the number of units that values of some types take."""
    return sum(5 + 2 * int(ndim) if ndim != "0" else 1 for ndim in types[2::4])


def compiler(portable):
    """Return the command that compiles and links C: the system's, or zig's, for older systems as well."""
    own = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(own[0]) and not (portable and sys.platform == "linux"):
        return own
    target = f"{platform.machine()}-linux-gnu.2.17"
    return [sys.executable, "-m", "ziglang", "cc", *(["-target", target] if sys.platform == "linux" else [])]


def link(levels, folder, digest, target, portable):
    """Link the library, and put it into place at once: it may be in use."""
    table, made = folder / "table.c", folder / target.name
    table.write_text(source(levels, folder, digest), "utf-8")
    unknown = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []  # the functions of Python
    options = ["-shared", "-O2", "-fPIC", "-fvisibility=hidden", "-s", *unknown]
    subprocess.run([*compiler(portable), *options, "-o", made, table, *sorted(folder.glob("*.o")), "-lm"], check=True)
    beside = target.with_suffix(".new")
    shutil.copyfile(made, beside)
    beside.replace(target)


def is_current(target, digest):
    """Return True if a library is of these kernels and of this program."""
    return (
        target.exists()
        and digest.encode() in target.read_bytes()
        and all(target.stat().st_mtime > file.stat().st_mtime for file in HERE.iterdir() if file.is_file())
    )


def build(target, portable):
    """Compile the kernels into a library, for this processor or for all; nothing to do if they have not changed."""
    os.environ["RANKLOOM_KERNELS"] = "jit"  # the library that is there, if any, does not matter
    load_package_alone()
    from rankloom._kernels.jit import digest

    of_now = digest()
    if not portable and is_current(target, of_now):
        return
    levels = list(LEVELS) if portable else [own_level()]
    with tempfile.TemporaryDirectory() as scratch:
        compile_all(levels, Path(scratch))
        link(levels, Path(scratch), of_now, target, portable)


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2], Path(sys.argv[3]))
    else:
        build(Path(sys.argv[1]) if sys.argv[1:] else KERNELS / "library.abi3.so", portable="portable" in sys.argv[2:])
