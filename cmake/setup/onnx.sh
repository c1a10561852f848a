# shellcheck shell=sh
# Sourced by ./dev. One virtual environment of the project's, from PyPI.
# setup_onnx: the `onnx` package for ONNX's own test data, the newest that still
# ships the files. setup_peers: ONNX Runtime and ggml too, for the benchmark, and
# XNNPACK from elsewhere. setup_chart: matplotlib, which draws the chart.

onnx_version=1.21.0
onnxruntime_version=1.31.1
matplotlib_version=3.11.2
# Has libggml-base.so next to its own. Debian 13 has no ggml, and unstable's needs
# unstable's libc.
ggml_package=pywhispercpp==1.5.1
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

# The benchmark itself says what is absent where it is not to be had, and goes
# on.
setup_peers() {
    setup_xnnpack
    setup_onnx
    [ -n "$onnx_python" ] || return 0
    if ! "$onnx_python" -c 'import onnxruntime' 2>/dev/null; then
        say "fetching onnxruntime $onnxruntime_version to compare with"
        "$onnx_environment/bin/pip" install -q \
            "onnxruntime==$onnxruntime_version" >build/onnxruntime.log 2>&1 \
            </dev/null ||
            say "onnxruntime could not be fetched (build/onnxruntime.log)"
    fi
    setup_ggml
}

# What draws says so itself where matplotlib is not to be had.
setup_chart() {
    setup_onnx
    [ -n "$onnx_python" ] || return 0
    if ! "$onnx_python" -c 'import matplotlib' 2>/dev/null; then
        say "fetching matplotlib $matplotlib_version to draw the chart"
        "$onnx_environment/bin/pip" install -q \
            "matplotlib==$matplotlib_version" >build/matplotlib.log 2>&1 \
            </dev/null ||
            say "matplotlib could not be fetched (build/matplotlib.log)"
    fi
}

# The machine's own ggml goes first.
setup_ggml() {
    if ldconfig -p | grep -q libggml-base; then return 0; fi
    library=$(find "$onnx_environment" -name libggml-base.so)
    if [ -z "$library" ]; then
        say "fetching $ggml_package for its ggml to compare with"
        "$onnx_environment/bin/pip" install -q --no-deps \
            --only-binary :all: "$ggml_package" >build/ggml.log 2>&1 </dev/null ||
            say "ggml could not be fetched (build/ggml.log)"
        library=$(find "$onnx_environment" -name libggml-base.so)
    fi
    [ -z "$library" ] || export DNNL_DEQUANT_GGML="$library"
}
