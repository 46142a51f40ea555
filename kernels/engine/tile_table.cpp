// Reads and writes tables of tile sizes.
#include "engine/tile_table.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace ringcraft::kernels {
namespace {

// The sizes that a rung takes; empty if there is no such rung, or it has no choice.
std::span<const TileSize> sizes_of(const std::string& pass, int rung, int head_dim) {
  const auto among = [&](const auto& rungs, const char* name) {
    std::span<const TileSize> sizes;
    for (const auto* r : rungs)
      if (pass == name && r->number == rung) sizes = tiles_of(*r, head_dim);
    return sizes;
  };
  const auto forward = among(forward_rungs(), ForwardStep::kPass);
  return forward.empty() ? among(backward_rungs(), BackwardStep::kPass) : forward;
}

[[noreturn]] void broken(const std::string& file, int line, const std::string& expected,
                         const std::string& actual) {
  throw Error("tile sizes " + file + ", line " + std::to_string(line), expected, "\"" + actual + "\"",
              "delete the file, or have ./ringcraft bench kernels --tune write it anew");
}

}  // namespace

std::string name_of(TileSize size) { return std::to_string(size.own) + "x" + std::to_string(size.other); }

void TileTable::choose(const std::string& pass, int rung, int head_dim, TileSize size) {
  const std::span<const TileSize> sizes = sizes_of(pass, rung, head_dim);
  const auto found = std::ranges::find(sizes, size);
  if (found == sizes.end()) {
    std::string allowed;
    for (const TileSize& each : sizes) allowed += (allowed.empty() ? "" : ", ") + name_of(each);
    throw Error("tiles of " + pass + " kernel " + std::to_string(rung),
                allowed.empty() ? "nothing: it has no choice" : "one of " + allowed, name_of(size),
                "take one of these");
  }
  std::erase_if(choices_,
                [&](const Choice& c) { return c.pass == pass && c.rung == rung && c.head_dim == head_dim; });
  choices_.push_back({pass, rung, head_dim, static_cast<int>(found - sizes.begin()), size});
}

int TileTable::place(const std::string& pass, int rung, int head_dim) const {
  for (const Choice& c : choices_)
    if (c.pass == pass && c.rung == rung && c.head_dim == head_dim) return c.place;
  return 0;
}

std::string TileTable::text(const std::string& device) const {
  std::string text =
      "# Tile sizes of the CUDA kernels, written by ./ringcraft bench kernels --tune: pass, rung, head_dim "
      "up to,\n"
      "# own x other rows of a tile. Anything not listed keeps its usual size.\ndevice " +
      device + "\n";
  for (const Choice& c : choices_)
    text += c.pass + " " + std::to_string(c.rung) + " " + std::to_string(c.head_dim) + " " + name_of(c.size) +
            "\n";
  return text;
}

TileTable read_tile_table(const std::string& file, const std::string& device) {
  std::ifstream lines(file);
  TileTable table;
  bool named = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (!named) {
      if (!line.starts_with("device ")) broken(file, number, "device and its name", line);
      if (line.substr(7) != device) return {};
      named = true;
      continue;
    }
    char pass[9] = {}, rest = 0;
    int rung = 0, head_dim = 0;
    TileSize size{};
    if (std::sscanf(line.c_str(), "%8s %d %d %dx%d %c", pass, &rung, &head_dim, &size.own, &size.other,
                    &rest) != 5 ||
        (head_dim != 64 && head_dim != 128))
      broken(file, number, "pass, rung, head_dim and own x other rows, as in forward 5 128 64x32", line);
    try {
      table.choose(pass, rung, head_dim, size);
    } catch (const Error& error) {
      broken(file, number, "a tile size that this version has", line);
    }
  }
  if (!named && number > 0) broken(file, number, "device and its name", "nothing");
  return table;
}

}  // namespace ringcraft::kernels
