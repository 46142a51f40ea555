// Validates that a method can run a problem.
#include "ringcraft/parallel/method.hpp"

#include <string>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"

namespace ringcraft {

namespace {

// An option that is set, and that the method does not take, would be ignored.
void refuse_untaken(const Method& method, MethodOption option, const char* name, int value) {
  if (value == 0 || (method.takes & option) != 0) return;
  std::string names;
  for (const Method* const other : kMethods)
    if ((other->takes & option) != 0) names += (names.empty() ? "" : ", ") + std::string(other->name);
  throw Error(name, "a method that takes it (" + names + ")", std::string(method.name),
              "leave it out, or use one of these methods");
}

}  // namespace

void refuse(const Method& method, const Problem& problem, const MethodOptions& options) {
  refuse_untaken(method, kTakesUlysses, "ulysses", options.ulysses);
  refuse_untaken(method, kTakesGatherHeads, "gather_heads", options.gather_heads);
  refuse_untaken(method, kTakesNode, "node", options.node);
  if (method.refuse != nullptr) method.refuse(problem, options);
}

void refuse(const Method& method, const Problem& problem, const MethodOptions& options, Pass pass,
            const Communicator& comm, const BlockEngine& engine) {
  refuse(problem, pass, comm, engine);
  if (pass == Pass::kBackward && method.backward == nullptr)
    throw Error("method", "one with a backward pass", std::string(method.name),
                "leave dout out, or use the ring");
  refuse(method, problem, options);
}

}  // namespace ringcraft
