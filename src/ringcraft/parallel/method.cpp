// Validates that a method can run a problem.
#include "ringcraft/parallel/method.hpp"

#include <string>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"

namespace ringcraft {

void refuse(const Method& method, const Problem& problem, const MethodOptions& options, Pass pass,
            const Communicator& comm, const BlockEngine& engine) {
  refuse(problem, pass, comm, engine);
  if (pass == Pass::kBackward && method.backward == nullptr)
    throw Error("method", "one with a backward pass", std::string(method.name),
                "leave dout out, or use the ring");
  if (method.refuse != nullptr) method.refuse(problem, options, pass, comm, engine);
}

}  // namespace ringcraft
