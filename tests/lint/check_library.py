"""The built library exports what it says, needs what it may, is hardened.

usage: check_library.py exports|needed|hardening ROOT LIBRARY
       check_library.py provider ROOT LIBRARY    ONNX Runtime's provider
"""
import re
import subprocess
import sys

import lint

# No oneDNN among them: it is found at run time, whichever the program has.
MAY_NEED = re.compile(
    r"(libc|libm|libstdc\+\+|libgcc_s|libgomp|libomp|ld-linux-x86-64)\.so")


# What ONNX Runtime looks up in a provider and in a library of custom ops.
PROVIDER_EXPORTS = {"CreateEpFactories", "ReleaseEpFactory",
                    "RegisterCustomOps"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def expected_exports(table, header):
    routed = re.findall(r"^(?:RECORD|ROUTE)\((\w+)\)", table, re.M)
    own = re.findall(r"^DNNL_DEQUANT_API [^;(]*?(\w+)\(", header, re.M)
    return set(routed) | set(own)


def check_exports(expected, symbols):
    """symbols: what `nm -D --defined-only` prints."""
    exported = {line.split()[-1] for line in symbols.splitlines()}
    return [f"{name}: exported, but neither in entry_points.def nor in the "
            "public header nor what ONNX Runtime asks for" for name in sorted(exported - expected)] \
        + [f"{name}: not exported" for name in sorted(expected - exported)]


def exported_by(library):
    return output("nm", "-D", "--defined-only", library)


def check_provider(symbols, dynamic):
    """Its three names, and nothing of ONNX Runtime linked."""
    return check_exports(PROVIDER_EXPORTS, symbols) \
        + [f"needs {name}" for name in re.findall(
            r"\(NEEDED\).*\[(.*onnxruntime.*)\]", dynamic)]


def check_needed(dynamic):
    """dynamic: what `readelf -dW` prints."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    complaints = [f"needs {name}" for name in needed
                  if not MAY_NEED.match(name)]
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        complaints.append("has a run path")
    return complaints if needed else ["no NEEDED entry was found"]


def check_cet(machine, notes, code):
    """readelf -hW and -nW, and the disassembly of an exported function."""
    if "X86-64" not in machine:
        return []
    complaints = []
    if not re.search(r"x86 feature:.*\bSHSTK\b", notes):
        complaints.append("is not marked for shadow stacks (-z shstk)")
    first = re.search(r"^\s+[0-9a-f]+:\s(.*)$", code, re.M)
    if not first or "endbr64" not in first.group(1):
        complaints.append("has no landing pads (-fcf-protection)")
    return complaints


def check_hardening(dynamic, segments, symbols):
    """readelf -dW, readelf -lW and `nm -D` of the library."""
    complaints = []
    if not re.search(r"\(FLAGS(_1)?\).*\b(BIND_NOW|NOW)\b", dynamic):
        complaints.append("is bound lazily (-z now)")
    if "TEXTREL" in dynamic:
        complaints.append("has text relocations")
    if "GNU_RELRO" not in segments:
        complaints.append("has no RELRO segment (-z relro)")
    if not re.search(r"GNU_STACK\s+(0x\w+\s+){5}RW ", segments):
        complaints.append("may run code on the stack")
    if re.search(r"LOAD\s+(0x\w+\s+){5}RWE", segments):
        complaints.append("has a segment both writable and executable")
    if "__stack_chk_fail" not in symbols:
        complaints.append("has no stack canaries (-fstack-protector-strong)")
    if not re.search(r"\b__\w+_chk\b", symbols.replace("__stack_chk", "")):
        complaints.append("has no checked calls (_FORTIFY_SOURCE)")
    return complaints


def check(what, root, library):
    if what == "exports":
        expected = expected_exports(
            lint.read(root, "src/abi/entry_points.def"),
            lint.read(root, "include/dnnl_dequant/dnnl_dequant.h"))
        return check_exports(expected, exported_by(library)), len(expected)
    if what == "provider":
        return check_provider(exported_by(library),
                              output("readelf", "-dW", library)), 1
    dynamic = output("readelf", "-dW", library)
    if what == "needed":
        return check_needed(dynamic), 1
    return check_hardening(dynamic, output("readelf", "-lW", library),
                           output("nm", "-D", library)) \
        + check_cet(output("readelf", "-hW", library),
                    output("readelf", "-nW", library),
                    output("objdump", "-d",
                           "--disassemble=dnnl_dequant_version", library)), 1


if __name__ == "__main__":
    lint.finish(*check(*sys.argv[1:]))
