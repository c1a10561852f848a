#ifndef KERNELS_GENERATED_CODE_HPP
#define KERNELS_GENERATED_CODE_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace dnnl_dequant {

/// Hashes of generated code, one for each group of descriptors, such as
/// "skinny_gemm avx2 u4 [K,N]". Code is generated for every instruction set,
/// whatever this machine has.
using code_hashes_t = std::map<std::string, uint64_t>;

/// Adds the hash of all code that `generate` generates on this thread, names
/// and order included, unless it generates none.
void record_generated(code_hashes_t &hashes, const std::string &what,
        const std::function<void()> &generate);

// These hash every generator of a family, over the descriptors that it
// distinguishes.
void hash_products(code_hashes_t &hashes);
void hash_integer_products(code_hashes_t &hashes);
void hash_attention(code_hashes_t &hashes);
void hash_rows(code_hashes_t &hashes); // dequantize, quantize, elementwise

} // namespace dnnl_dequant

#endif
