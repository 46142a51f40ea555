#pragma once
/// @file
/// The files of a claim: one with the whole sequence, or one for each rank.

#include <filesystem>
#include <string>
#include <vector>

namespace ringcraft::verify {

/// Which files a claim is in.
struct ClaimFiles {
  std::vector<std::filesystem::path> paths;  ///< of ranks 0, 1, ...; or the only one
  bool per_rank = false;                     ///< each holds the rows of its rank
};

/// The files that --claim names: a file; a folder, whose .safetensors files end with their rank
/// (out_rank_3.safetensors); or a pattern in which {rank} stands for the rank (3 or 003). Throws Error where
/// a rank is missing or there twice, or where names do not say which rank they are of.
ClaimFiles files_of_claim(const std::string& claim);

/// The place of one of them in an error: "rank 3 (out_rank_3.safetensors)", or the file.
std::string place_of_file(const ClaimFiles& files, std::size_t index);

}  // namespace ringcraft::verify
