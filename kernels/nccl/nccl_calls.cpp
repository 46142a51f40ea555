// Loads libnccl.so.2 with dlopen, and resolves the calls that the communicator makes.
#include "nccl/nccl_calls.hpp"

#include <dlfcn.h>

namespace ringcraft::kernels {
namespace {

// By the loader's own search, else where it lay when this was built.
void* open_library() {
  for (const char* name : {"libnccl.so.2", RINGCRAFT_NCCL_LIBRARY})
    if (*name != '\0')
      if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw Error("NCCL", "libnccl.so.2 where the loader looks", "none",
              "install libnccl2, or add its folder to LD_LIBRARY_PATH", Code::kMissing);
}

template <class Call>
void find(Call*& call, void* library, const char* name) {
  call = reinterpret_cast<Call*>(dlsym(library, name));
  if (call == nullptr)
    throw Error("NCCL", std::string("a library with ") + name, "one without it", "install NCCL 2.7 or newer",
                Code::kMissing);
}

NcclCalls load() {
  void* const library = open_library();
  NcclCalls calls;
  find(calls.error_string, library, "ncclGetErrorString");
  find(calls.unique_id, library, "ncclGetUniqueId");
  find(calls.init_rank, library, "ncclCommInitRank");
  find(calls.async_error, library, "ncclCommGetAsyncError");
  find(calls.destroy, library, "ncclCommDestroy");
  find(calls.abort, library, "ncclCommAbort");
  find(calls.group_start, library, "ncclGroupStart");
  find(calls.group_end, library, "ncclGroupEnd");
  find(calls.send, library, "ncclSend");
  find(calls.recv, library, "ncclRecv");
  return calls;
}

}  // namespace

const NcclCalls& nccl_library() {
  static const NcclCalls calls = load();
  return calls;
}

}  // namespace ringcraft::kernels
