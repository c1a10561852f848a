# shellcheck shell=sh
# Sourced by ./dev. Tests on an emulated CPU with AVX-512, AVX-VNNI, VNNI and
# bf16: Bochs, which has them where QEMU has none, boots a Linux of nothing but
# the tests (tests/emulated). It is unpacked in build, not installed.
# shellcheck disable=SC2154 # ./dev says how many jobs

emulator=$PWD/build/emulator
emulated_programs='test_kernels test_lower e2e/test_e2e'

# Debian 13's Bochs is the first with bf16, and 12's kernel does not boot there.
# From source, since the package has a debugger in it and half a desktop behind.
make_emulator() {
    [ "$(uname -m)" = x86_64 ]
    setup_packages make xz-utils xorriso
    unpack emulator trixie \
        'linux-image-[0-9].*|bochsbios|vgabios|isolinux|syslinux-common|busybox-static' \
        'linux-image-cloud-amd64 bochsbios vgabios isolinux syslinux-common
            busybox-static'
    begin_private_apt "$emulator/apt" trixie deb-src
    apt-get -q source --download-only --tar-only bochs
    mkdir source
    tar -x -C source --strip-components 1 -f bochs_*.orig.tar.*
    cd source || return
    # 3.0 takes the upper half of vcvtne2ps2bf16 from behind its operand.
    sed -i '/VCVTNE2PS2BF16/,/^}/s/(op1\.vmm32u(n))/(op1.vmm32u(n - DWORD_ELEMENTS(len)))/' \
        cpu/avx/avx512_bf16.cc
    ./configure CFLAGS=-O2 CXXFLAGS=-O2 --with-nogui \
        --enable-all-optimizations --enable-cpu-level=6 --enable-x86-64 \
        --enable-avx --enable-evex --enable-amx --enable-cet \
        --disable-docbook --disable-show-ips --disable-stats
    make -j "$jobs" bochs
    mv bochs "$emulator/"
    rm -r "$emulator/apt"
}

# run_emulated SECONDS LIST: what stands in the list, on as many guests as there
# are cores, but no more than two. 77 where there is no emulator or its machine
# did not start.
run_emulated() {
    once emulator/bochs "the emulator (Bochs) and its Linux" make_emulator
    [ -e "$emulator/bochs" ] || return 77
    cmake --preset release
    # shellcheck disable=SC2046,SC2086 # one word a program
    build release --target $(basename -a $emulated_programs)
    python3 tests/emulated/emulate.py --folder build/emulated \
        --emulator build/emulator --programs build/release/tests \
        --guests $((jobs > 1 ? 2 : 1)) --seconds "$1" "$2"
}

# cmd_emulate [FILTER...]: gtest's filters, each on all programs.
cmd_emulate() {
    if [ $# -eq 0 ]; then
        run_emulated 1200 tests/emulated/all.list
        return
    fi
    for filter in "$@"; do
        for program in $emulated_programs; do
            echo "$program $filter ${DNNL_DEQUANT_TEST_EVERY-1}"
        done
    done >build/emulated.list
    run_emulated 7200 build/emulated.list
}
