# shellcheck shell=sh
# Sourced by ./dev. ONNX's own test data, from the `onnx` package of PyPI, in a
# virtual environment of the project's: the newest that still ships the files.

onnx_version=1.21.0
onnx_environment=$PWD/build/onnx-venv

fetch_onnx() {
    rm -rf "$onnx_environment"
    python3 -m venv "$onnx_environment" &&
        "$onnx_environment/bin/pip" install -q "onnx==$onnx_version"
}

# shellcheck disable=SC2034 # ./dev reads it
# Sets onnx_python, empty where the package is not to be had.
setup_onnx() {
    onnx_python=$onnx_environment/bin/python
    if ! "$onnx_python" -c 'import onnx' 2>/dev/null; then
        say "fetching onnx $onnx_version for its test data"
        if ! fetch_onnx >build/onnx.log 2>&1 </dev/null; then
            say "onnx could not be fetched (build/onnx.log):" \
                "the conformance tests are left out"
            onnx_python=
        fi
    fi
}
