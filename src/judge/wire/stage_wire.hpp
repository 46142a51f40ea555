#pragma once
/// @file
/// The files between the tool and the program that runs a stage with students' objects: two in a work folder,
/// in the encoding of the judge's wire. That program opens neither; both are open when it starts. The request
/// holds the shared problem and its inputs; the reply a stage's answer with its cost, or the words of an
/// exception.

#include <filesystem>
#include <string>

#include "judge/wire/wire.hpp"
#include "verify/ladder/ladder.hpp"

namespace ringcraft::judge {

/// The problem that all stages share.
struct StageRequest {
  Problem problem;        ///< made by `run`
  verify::Inputs inputs;  ///< whole tensors

  static auto fields(auto& self) { return std::tie(self.problem, self.inputs); }
};

/// The result of one stage.
struct StageReply {
  std::string thrown;          ///< what() of the exception that ended it; empty if it ended normally
  int not_written = 0;         ///< the lesson whose file is still its skeleton, if that ended it; else 0
  verify::StageResult result;  ///< if it ended normally
};

/// Writes a request to a file. Throws Error (kMissing) if it cannot.
void write_request(const std::filesystem::path& file, const StageRequest& request);
/// Reads one from an open file. Throws Error if the file holds something else.
StageRequest read_request(int descriptor);
/// Writes a reply to an open file. Throws Error (kMissing) if it cannot.
void write_reply(int descriptor, const StageReply& reply);
/// Reads a reply. Throws Error if the file holds something else.
StageReply read_reply(const std::filesystem::path& file);

}  // namespace ringcraft::judge
