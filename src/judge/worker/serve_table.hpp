#pragma once
/// @file
/// Finds an exercise of a lesson by its name and calls it: shared by the workers for host code and for
/// kernels. Each lesson has a separate object with its exercises and no others, so that a worker holds no
/// function that the library has for another lesson, unless the exercise needs it.

#include <string>
#include <tuple>
#include <type_traits>

#include "judge/wire/exercise.hpp"

namespace ringcraft::judge {

/// Calls the exercise of this name among E... once. Throws Error if there is none, and whatever it throws.
template <class... E>
Bytes serve_one_of(std::type_identity<std::tuple<E...>>, const std::string& name, Reader& arguments,
                   Arena& arena, Communicator& comm, BlockEngine* engine) {
  Bytes reply;
  const auto is_served = [&]<class One>(std::type_identity<One>) {
    if (name != One::kName) return false;
    reply = One::serve(arguments, arena, comm, engine);
    return true;
  };
  if (!(is_served(std::type_identity<E>{}) || ...)) throw Error("this worker has no exercise " + name);
  return reply;
}

}  // namespace ringcraft::judge
