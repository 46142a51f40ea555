// What a build of the kernels is for; compiled once for each.
namespace ringcraft::python {

const char* processor() {
#if defined(__AVX512F__)
  return "x86-64-v4 (AVX-512)";
#elif defined(__AVX2__)
  return "x86-64-v3 (AVX2)";
#elif defined(__x86_64__)
  return "x86-64 (SSE2)";
#else
  return "this build's processor";
#endif
}

}  // namespace ringcraft::python
