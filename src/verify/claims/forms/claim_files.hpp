#pragma once
/// @file
/// Finds the files of a claim: one with the whole sequence, or one for each rank.

#include <filesystem>
#include <string>
#include <vector>

namespace ringcraft::verify {

/// The files that hold a claim.
struct ClaimFiles {
  std::vector<std::filesystem::path> paths;  ///< of ranks 0, 1, ...; or the only one
  bool per_rank = false;                     ///< each file holds the rows of its rank
};

/// The files named by --claim: a file; a folder whose .safetensors files end with their rank
/// (out_rank_3.safetensors); or a pattern in which {rank} stands for the rank (3 or 003). Throws Error if a
/// rank is missing or occurs twice, or if a name does not tell its rank.
ClaimFiles files_of_claim(const std::string& claim);

/// The location of one of them in an error message: "rank 3 (out_rank_3.safetensors)", or the file.
std::string place_of_file(const ClaimFiles& files, std::size_t index);

}  // namespace ringcraft::verify
