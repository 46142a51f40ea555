// doctor: which layers between a judged file and this machine are here.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "grade/jail/jail.hpp"
#include "tool/commands/grade_commands.hpp"
#include "tool/course/course.hpp"

namespace ringcraft::tool {

int doctor() {
  const std::vector<grade::Layer> all = grade::layers(source_root());
  for (const grade::Layer& layer : all) {
    fmt::print("  {:7}  {:10}  {}\n", layer.here ? "here" : "missing", layer.id, layer.claim);
    if (!layer.here) fmt::print("{:23}{}\n", "", layer.reason);
    if (!layer.here && !layer.fallback.empty()) fmt::print("{:23}instead: {}\n", "", layer.fallback);
  }
  const auto missing = std::ranges::count(all, false, &grade::Layer::here);
  const bool wanted = std::ranges::any_of(all, grade::is_wanted);
  fmt::print("{} of {} layers are here{}\n", all.size() - static_cast<std::size_t>(missing), all.size(),
             wanted ? "; grade needs those without an \"instead\", or --without them" : "");
  return 0;
}

}  // namespace ringcraft::tool
