"""The execution provider for ONNX Runtime that comes with the package."""
import os
import threading

from . import _library

_EP_NAME = "DnnlDequantExecutionProvider"
_CLAIMS = ("faster", "all", "none")
_lock = threading.Lock()
_registered = False


def get_library_path():
    """The path of the execution provider's library, for ONNX Runtime's
    `register_execution_provider_library` and `register_custom_ops_library`.

    Raises
    ------
    RuntimeError where this build of the package has none.

    >>> import dnnl_dequant
    >>> dnnl_dequant.get_library_path()  # doctest: +SKIP
    '.../dnnl_dequant/lib/libdnnl_dequant_ort.so'
    """
    path = os.path.join(_library.FOLDER, "libdnnl_dequant_ort.so")
    if not os.path.exists(path):
        raise RuntimeError("this build of dnnl-dequant has no execution "
                           f"provider: {path} is not there")
    return path


def get_ep_name():
    """The execution provider's name in ONNX Runtime.

    >>> import dnnl_dequant
    >>> dnnl_dequant.get_ep_name()
    'DnnlDequantExecutionProvider'
    """
    return _EP_NAME


def get_ep_names():
    """The names of all execution providers in the library, a list.

    >>> import dnnl_dequant
    >>> dnnl_dequant.get_ep_names()
    ['DnnlDequantExecutionProvider']
    """
    return [_EP_NAME]


def _onnxruntime():
    try:
        import onnxruntime
    except ImportError as error:
        raise RuntimeError("this needs onnxruntime 1.23 or later: "
                           "pip install dnnl-dequant[onnxruntime]") from error
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise RuntimeError(f"onnxruntime is {onnxruntime.__version__}; "
                           "expected 1.23 or later")
    return onnxruntime


def _register(onnxruntime):
    """Registers the library, once a process."""
    global _registered
    with _lock:
        if not _registered:
            known = [device.ep_name for device in onnxruntime.get_ep_devices()]
            if _EP_NAME not in known:
                onnxruntime.register_execution_provider_library(
                    _EP_NAME, get_library_path())
            _registered = True


def _add_provider(onnxruntime, options, accuracy_level, claim):
    if claim not in _CLAIMS:
        raise ValueError(f"claim is {claim!r}; expected one of "
                         f"{', '.join(_CLAIMS)}")
    if accuracy_level not in (None, 0, 4):
        raise ValueError(f"accuracy_level is {accuracy_level!r}; expected 0, "
                         "4 or none")
    _register(onnxruntime)
    devices = [device for device in onnxruntime.get_ep_devices()
               if device.ep_name == _EP_NAME]
    if not devices:
        raise RuntimeError(f"onnxruntime offers no device of {_EP_NAME}")
    said = {"claim": claim}
    if accuracy_level is not None:
        said["accuracy_level"] = str(accuracy_level)
    options.add_provider_for_devices(devices[:1], said)
    return options


def session_options(accuracy_level=None, claim="faster"):
    """onnxruntime.SessionOptions with the execution provider added.

    Parameters
    ----------
    accuracy_level : 0 or 4, optional
        4: products may quantize their activations to 8 bits; 0: they do not.
        Where it is not said, each node's own attribute counts.
    claim : "faster", "all" or "none"
        Which nodes the provider takes.

    Raises
    ------
    ValueError for an option that does not exist; RuntimeError where
    onnxruntime is missing or older than 1.23, or this package was built
    without the provider.

    >>> import dnnl_dequant
    >>> options = dnnl_dequant.session_options()  # doctest: +SKIP
    """
    onnxruntime = _onnxruntime()
    return _add_provider(onnxruntime, onnxruntime.SessionOptions(),
                         accuracy_level, claim)


def InferenceSession(path_or_bytes, sess_options=None, *, accuracy_level=None,
                     claim="faster", **options):
    """onnxruntime.InferenceSession that runs on the execution provider.

    Parameters
    ----------
    path_or_bytes : str, os.PathLike or bytes
        The model.
    sess_options : onnxruntime.SessionOptions, optional
        To which the provider is added.
    accuracy_level, claim
        As for `session_options`.
    options
        Others of onnxruntime.InferenceSession.

    Raises
    ------
    What `session_options` and onnxruntime.InferenceSession raise.

    >>> import dnnl_dequant
    >>> session = dnnl_dequant.InferenceSession("model.onnx")  # doctest: +SKIP
    """
    onnxruntime = _onnxruntime()
    if sess_options is None:
        sess_options = onnxruntime.SessionOptions()
    _add_provider(onnxruntime, sess_options, accuracy_level, claim)
    if isinstance(path_or_bytes, os.PathLike):
        path_or_bytes = os.fspath(path_or_bytes)
    return onnxruntime.InferenceSession(path_or_bytes, sess_options, **options)
