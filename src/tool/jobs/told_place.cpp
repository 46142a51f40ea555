// Reads a rank's place from environment variables.
#include "tool/jobs/told_place.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {
namespace {

constexpr int kMostRanks = 4096;  // as with --ranks
constexpr int kLastPort = 65535;

int number_in(const char* name, std::string_view text, int first, int last) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < first || value > last)
    throw Error(name, "a whole number from " + std::to_string(first) + " to " + std::to_string(last),
                "'" + shown(text) + "'", "the launcher of the job sets it for each rank");
  return value;
}

int port_of(const Variable& variable) {
  if (const char* const own = variable("RINGCRAFT_PORT"))
    return number_in("RINGCRAFT_PORT", own, 1, kLastPort);
  const char* const master = variable("MASTER_PORT");
  if (master == nullptr)
    throw Error("MASTER_PORT", "a port of rank 0's host", "no such variable",
                "set it, or RINGCRAFT_PORT, to the same number for every rank");
  return number_in("MASTER_PORT", master, 1, kLastPort - 1) + 1;
}

}  // namespace

std::optional<ToldPlace> told_place(const Variable& variable) {
  const char *const rank = variable("RANK"), *const world_size = variable("WORLD_SIZE");
  if (rank == nullptr || world_size == nullptr) return std::nullopt;
  const int size = number_in("WORLD_SIZE", world_size, 1, kMostRanks);
  const char* const host = variable("MASTER_ADDR");
  if (host == nullptr || *host == '\0')
    throw Error("MASTER_ADDR", "the host of rank 0", "no such variable", "set it to the same for every rank");
  return ToldPlace{number_in("RANK", rank, 0, size - 1), size, host, port_of(variable)};
}

std::optional<ToldPlace> told_place() {
  return told_place([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace ringcraft::tool
