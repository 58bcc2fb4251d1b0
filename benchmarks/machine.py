"""The machine of a run: CPU, caches and versions, without names of machines or people."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import sixd

_PACKAGES = ("numpy", "llvmlite", "pin", "mujoco-core", "mujoco", "casadi")
_WIDEST = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("asimd", "NEON"))


def describe() -> dict[str, str]:
    """Return the lines of the table on machine and versions."""
    versions = {name: _version(name) for name in _PACKAGES}
    if versions["mujoco-core"]:  # `mujoco` is then the same library with more around it
        versions["mujoco"] = ""
    return {
        "CPU": _cpu(),
        "caches": _caches() or "unknown",
        "system": f"{platform.system()} {platform.machine()}",
        "load average at the start": _load(),
        "Python": platform.python_version(),
        "sixd": f"{sixd.__version__}{_commit()}",
        **{name: version for name, version in versions.items() if version},
        "LLVM": _llvm(),
        "C compiler": _compiler(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cpu() -> str:
    info = _read(Path("/proc/cpuinfo"))
    fields = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
    known = {key.strip(): value.strip() for key, value in fields.items()}
    name = known.get("model name") or platform.processor() or platform.machine()
    flags = (known.get("flags") or known.get("Features") or "").split()
    widest = next((words for flag, words in _WIDEST if flag in flags), "")
    return ", ".join(filter(None, [name, f"{os.cpu_count()} cores", widest]))


def _caches() -> str:
    levels = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(index / name).strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            levels.append(f"L{level} {size}")
    return ", ".join(levels)


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _commit() -> str:
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ""
    return f", after commit {done.stdout.strip()}" if done.returncode == 0 else ""


def _llvm() -> str:
    try:
        from llvmlite import binding
    except ImportError:
        return "none"
    return ".".join(map(str, binding.llvm_version_info))


def _compiler() -> str:
    try:
        from benchmarks.contenders.with_casadi import COMPILER, FLAGS
    except ImportError:
        return "not used"
    if COMPILER is None:
        return "none"
    done = subprocess.run([COMPILER, "--version"], capture_output=True, text=True)
    return f"{done.stdout.splitlines()[0]}, {' '.join(FLAGS)}" if done.stdout else Path(COMPILER).name


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
