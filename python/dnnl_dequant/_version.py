"""The version of the installed distribution."""
from importlib import metadata

try:
    __version__ = metadata.version("dnnl-dequant")
except metadata.PackageNotFoundError:  # a work tree
    __version__ = "0"
