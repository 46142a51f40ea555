// Parses the value of --claim-layout: a layout's name, with an optional number of virtual ranks, or a file
// that lists positions, which must be a permutation of the sequence.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"
#include "verify/claims/forms/row_order.hpp"

namespace ringcraft::verify {
namespace {

constexpr const char* kPositionsLine = "numpy.savetxt(\"positions.txt\", positions, fmt=\"%d\") writes them";

std::optional<Layout> layout_of_name(std::string_view name) {
  for (const Layout layout : kLayouts)
    if (name == name_of(layout)) return layout;
  return {};
}

// Reads whole numbers separated by blanks, commas or newlines. -1 is a row of padding.
std::vector<Position> positions_in(std::string_view text, const std::string& path) {
  std::vector<Position> positions;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n,"), text.size()));
    if (text.empty()) return positions;
    Position position = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
    const auto length = static_cast<std::size_t>(end - text.data());
    const bool ends =
        length == text.size() || std::string_view(" \t\r\n,").find(*end) != std::string_view::npos;
    if (error != std::errc() || !ends)
      throw Error("--claim-layout " + shown(path), "whole numbers, the position of every row",
                  "'" + shown(text.substr(0, text.find_first_of(" \t\r\n,")), 20) + "'", kPositionsLine);
    positions.push_back(position);
    text.remove_prefix(length);
  }
}

void require_permutation(const std::vector<Position>& positions, Position seqlen, const std::string& path) {
  std::vector<bool> seen(static_cast<std::size_t>(seqlen));
  const std::string expected = "every position from 0 to " + std::to_string(seqlen - 1) + " once";
  const auto refuse = [&](const std::string& got) {
    throw Error("--claim-layout " + shown(path), expected, got,
                "list the token that each row of the claim is, in the order of its rows; -1 is padding");
  };
  for (const Position position : positions) {
    if (position == -1) continue;
    if (position < 0 || position >= seqlen) refuse(std::to_string(position));
    if (seen[static_cast<std::size_t>(position)]) refuse(std::to_string(position) + " twice");
    seen[static_cast<std::size_t>(position)] = true;
  }
  if (const auto missing = std::ranges::find(seen, false); missing != seen.end())
    refuse("a list without " + std::to_string(missing - seen.begin()));
}

}  // namespace

ClaimLayout claim_layout_of(const std::string& text, Position seqlen) {
  ClaimLayout result;
  result.text = text;
  if (text.empty()) return result;
  const std::size_t colon = text.find(':');
  result.layout = layout_of_name(text.substr(0, colon));
  if (result.layout && colon == std::string::npos) return result;
  if (result.layout) {
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, result.virtual_ranks);
    if (error != std::errc() || end != last || result.virtual_ranks < 1 || result.virtual_ranks > 4096)
      throw Error("--claim-layout", "a number of virtual ranks from 1 to 4096 after the colon",
                  "'" + shown(text) + "'", "write " + text.substr(0, colon) + ":8, say");
    return result;
  }
  std::error_code unknown;
  if (!std::filesystem::exists(text, unknown))
    throw Error("--claim-layout",
                "contiguous, striped, zigzag or zigzag-token, or a file that lists the positions of the rows",
                "'" + shown(text) + "'", "check the spelling");
  constexpr std::uintmax_t kLargestList = 1 << 30;  // bytes
  result.positions = positions_in(read_text_file("--claim-layout", text, kLargestList), text);
  require_permutation(result.positions, seqlen, text);
  return result;
}

}  // namespace ringcraft::verify
