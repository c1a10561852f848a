"""info(): versions, instruction set and kernels."""
import ctypes

from . import _library, _program
from ._version import __version__

# The values of dnnl_cpu_isa_t.
_ISAS = {
    0x0: "default", 0x1: "sse41", 0x3: "avx", 0x7: "avx2", 0xF: "avx2_vnni",
    0x1F: "avx2_vnni_2", 0x27: "avx512_core", 0x67: "avx512_core_vnni",
    0xE7: "avx512_core_bf16", 0x1EF: "avx512_core_fp16",
    0xFEF: "avx512_core_amx", 0x1FEF: "avx512_core_amx_fp16",
}


def info():
    """Tells what runs here, as a dict:

    package, plugin, onednn : versions
    isa : the instruction set that oneDNN's setting and the CPU allow
    policy : the CPU by whose measurements kernels are chosen
    enabled : False where DNNL_DEQUANT_DISABLE switches the plugin off
    kernels : a dict, the kernel that each function used last

    >>> import dnnl_dequant
    >>> sorted(dnnl_dequant.info())
    ['enabled', 'isa', 'kernels', 'onednn', 'package', 'plugin', 'policy']
    """
    found = _library.Info()
    status = _library.library().info(ctypes.byref(found))
    _library.raise_for(status, "info")
    return {
        "package": __version__,
        "plugin": found.plugin.decode(),
        "onednn": ".".join(str(part) for part in found.onednn),
        "isa": _ISAS.get(found.isa, hex(found.isa)),
        "policy": found.policy.decode(),
        "enabled": bool(found.enabled),
        "kernels": {name: program.kernel
                    for name, program in list(_program.last.items())},
    }
