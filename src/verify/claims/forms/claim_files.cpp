// Assigns a claim's files to ranks, by the number at the end of each name in a folder or by the {rank} of a
// pattern, and refuses gaps and duplicates.
#include "verify/claims/forms/claim_files.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::verify {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRankMark = "{rank}";
constexpr int kMostRanks = 4096;
constexpr const char* kNames = "name them rank0.safetensors, rank1.safetensors, ..., or give a pattern: ";

using FilesByRank = std::map<int, fs::path>;

std::string shown_name(const fs::path& path) { return shown(path.filename().string()); }

void add_file(FilesByRank& files, int rank, const fs::path& path) {
  const auto [known, fresh] = files.emplace(rank, path);
  if (!fresh)
    throw Error("--claim", "one file for rank " + std::to_string(rank),
                shown_name(known->second) + " and " + shown_name(path), "take one of them away");
}

// Requires a file for every rank from 0 to the last one.
ClaimFiles without_gaps(const FilesByRank& files, const std::string& claim) {
  ClaimFiles result{{}, true};
  std::string missing;
  int count = 0;
  for (int rank = 0; rank <= files.rbegin()->first; ++rank) {
    if (const auto file = files.find(rank); file != files.end())
      result.paths.push_back(file->second);
    else if (++count <= 5)
      missing += (count > 1 ? ", " : "") + std::to_string(rank);
  }
  if (count > 0)
    throw Error("--claim", "a file for each of the ranks 0 to " + std::to_string(files.rbegin()->first),
                "none for rank " + missing + (count > 5 ? ", ..." : "") + " in " + shown(claim),
                "dump that rank, too; ranks count from 0");
  return result;
}

// A name that ends with its rank: "out_rank_3" is "out_rank_" and 3.
struct NumberedName {
  std::string before;
  int rank = -1;  // none
};

NumberedName numbered(const std::string& stem) {
  std::size_t digits = stem.size();
  while (digits > 0 && stem[digits - 1] >= '0' && stem[digits - 1] <= '9') --digits;
  NumberedName name{stem.substr(0, digits)};
  const auto [end, error] = std::from_chars(stem.data() + digits, stem.data() + stem.size(), name.rank);
  if (error != std::errc() || name.rank >= kMostRanks) name.rank = -1;
  return name;
}

ClaimFiles files_of_folder(const std::string& claim) {
  FilesByRank files;
  std::string before, others;
  std::vector<fs::path> paths;
  std::error_code failure;
  for (fs::directory_iterator entry(claim, failure), end; !failure && entry != end; entry.increment(failure))
    if (entry->path().extension() == ".safetensors") paths.push_back(entry->path());
  if (failure)
    throw Error("--claim", "a folder that can be read", failure.message(), "check its permissions");
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    const NumberedName name = numbered(path.stem().string());
    if (name.rank < 0) {
      others = shown_name(path);
      continue;
    }
    if (!files.empty() && name.before != before)
      throw Error(
          "--claim", "a folder of files that differ in the rank at their end alone",
          shown_name(files.begin()->second) + " and " + shown_name(path),
          "give a pattern: --claim '" + shown(claim) + "/" + shown(name.before) + "{rank}.safetensors'");
    before = name.before;
    add_file(files, name.rank, path);
  }
  if (files.empty())
    throw Error("--claim", "a folder of .safetensors files whose names end with their rank",
                others.empty() ? "none in " + shown(claim) : others + " in " + shown(claim),
                kNames + std::string("--claim 'DIR/{rank}_out.safetensors'"));
  return without_gaps(files, claim);
}

// The pattern with a rank padded to at least `digits` digits.
std::string filled(const std::string& pattern, int rank, std::size_t digits) {
  std::string number = std::to_string(rank);
  number.insert(0, digits > number.size() ? digits - number.size() : 0, '0');
  return replaced(pattern, kRankMark, number);
}

ClaimFiles files_of_pattern(const std::string& claim) {
  FilesByRank files;
  constexpr int kLargestGap = 256;  // missing ranks in a row after which the search ends
  for (int rank = 0, last = 0; rank < kMostRanks && rank - last <= kLargestGap; ++rank)
    for (std::size_t digits = std::to_string(rank).size(); digits <= 5; ++digits) {
      const fs::path path = filled(claim, rank, digits);
      std::error_code unknown;
      if (!fs::is_regular_file(path, unknown)) continue;
      add_file(files, rank, path);
      last = rank;
    }
  if (files.empty())
    throw Error("--claim", "files of the pattern " + shown(claim),
                "none, not even " + shown(filled(claim, 0, 1)),
                "check the path, and quote the pattern in a shell");
  return without_gaps(files, claim);
}

}  // namespace

ClaimFiles files_of_claim(const std::string& claim) {
  if (claim.find(kRankMark) != std::string::npos) return files_of_pattern(claim);
  std::error_code unknown;
  if (fs::is_directory(claim, unknown)) return files_of_folder(claim);
  return {{claim}, false};
}

std::string place_of_file(const ClaimFiles& files, std::size_t index) {
  if (!files.per_rank) return files.paths[index].string();
  return "rank " + std::to_string(index) + " (" + shown_name(files.paths[index]) + ")";
}

}  // namespace ringcraft::verify
