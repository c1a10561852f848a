#ifndef STRESS_PROCESS_MEMORY_HPP
#define STRESS_PROCESS_MEMORY_HPP

namespace dnnl_dequant {
namespace stress {

/// The memory of this process at one moment, as the kernel and malloc count it.
struct process_memory_t {
    long resident_kib = 0;
    // Allocated and not freed, of all arenas: unlike resident memory, without
    // what malloc keeps for later. 0 where malloc does not say.
    long heap_kib = 0;
    long mappings = 0;
    long executable = 0; // mappings without a file: generated code
};

process_memory_t process_memory();

} // namespace stress
} // namespace dnnl_dequant

#endif
