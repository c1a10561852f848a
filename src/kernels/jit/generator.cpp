#include "kernels/jit/generator.hpp"

#include "kernels/machine.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace dnnl_dequant {

namespace {

// Twice what any kernel takes; pages that stay untouched cost nothing.
constexpr size_t max_code_bytes = 64 * 1024;

// Xbyak's own allocator keeps a list of its pages, and loses them where there
// is no memory for the list. Ours are all of one size.
class pages_t : public Xbyak::Allocator {
public:
    uint8_t *alloc(size_t size) override {
        if (size != max_code_bytes) return nullptr;
        void *const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return pages == MAP_FAILED ? nullptr : static_cast<uint8_t *>(pages);
    }
    void free(uint8_t *pages) override { munmap(pages, max_code_bytes); }
    bool useProtect() const override { return true; }
};

Xbyak::Allocator *pages() {
    static pages_t stateless;
    return &stateless;
}

const Xbyak::Reg64 callee_saved[] = {Xbyak::util::rbx, Xbyak::util::rbp,
        Xbyak::util::r12, Xbyak::util::r13, Xbyak::util::r14, Xbyak::util::r15};
constexpr size_t callee_saved_count = 6;

std::atomic<code_observer_t> observer {nullptr};

} // namespace

void observe_code(code_observer_t wanted) {
    observer = wanted;
}

jit_generator_t::jit_generator_t(const char *name)
    : Xbyak::CodeGenerator(max_code_bytes, Xbyak::DontSetProtectRWE, pages())
    , name_(name) {}

Xbyak::Address jit_generator_t::constant(const lanes_t &lanes) {
    size_t place = 0;
    while (place < constants_.size() && constants_[place] != lanes)
        ++place;
    if (place == constants_.size()) constants_.push_back(lanes);
    return ptr[rip + constants_label_
               + static_cast<int>(place * sizeof(lanes_t))];
}

Xbyak::Address jit_generator_t::constant(uint32_t lane) {
    return constant(same_lanes(lane));
}

jit_generator_t::lanes_t jit_generator_t::same_lanes(uint32_t lane) {
    lanes_t lanes;
    lanes.fill(lane);
    return lanes;
}

jit_generator_t::lanes_t jit_generator_t::doubles(double value) {
    uint32_t words[2];
    std::memcpy(words, &value, sizeof(words));
    lanes_t lanes;
    for (size_t i = 0; i < lanes.size(); ++i)
        lanes[i] = words[i % 2];
    return lanes;
}

void jit_generator_t::create() {
    endbr64(); // it is called through a pointer
    generate();
    write_constants();
    if (hasUndefinedLabel()) throw Xbyak::Error(Xbyak::ERR_LABEL_IS_NOT_FOUND);
    setProtectModeRE();
    if (const code_observer_t observe = observer)
        observe(name_, getCode(), getSize());
#ifdef DNNL_DEQUANT_JIT_PERF_MAP
    write_perf_map();
#endif
}

void jit_generator_t::preamble() {
    for (size_t r = 0; r < callee_saved_count; ++r)
        push(callee_saved[r]);
}

void jit_generator_t::postamble() {
    vzeroupper();
    for (size_t r = callee_saved_count; r-- > 0;)
        pop(callee_saved[r]);
    ret();
}

void jit_generator_t::prefetch_stream(const Xbyak::Address &line) {
    if (this_machine().policy.prefetches_weights_into_l2) prefetcht1(line);
    else prefetcht0(line);
}

void jit_generator_t::prefetch_early(const Xbyak::Address &line) {
    if (this_machine().policy.prefetches_early_into_l1) prefetcht0(line);
    else prefetcht1(line);
}

void jit_generator_t::write_constants() {
    align(64);
    L(constants_label_);
    for (const auto &lanes : constants_)
        for (const uint32_t lane : lanes)
            dd(lane);
}

#ifdef DNNL_DEQUANT_JIT_PERF_MAP
// One line a function, in the place and form that `perf report` reads. Only in
// builds that ask for it: the name is known to everybody who writes there.
void jit_generator_t::write_perf_map() const {
    const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    std::FILE *file = std::fopen(path.c_str(), "a");
    if (file == nullptr) return;
    std::fprintf(file, "%llx %zx %s\n",
            static_cast<unsigned long long>(
                    reinterpret_cast<uintptr_t>(getCode())),
            getSize(), name_);
    std::fclose(file);
}
#endif

} // namespace dnnl_dequant
