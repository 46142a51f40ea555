#pragma once
/// @file
/// What the tool and the program that runs a stage with students' objects hand each other: two files in a
/// work folder, of the same bytes as the judge's wire. That program opens neither; it has both open when it
/// begins. The request holds the shared problem and its inputs;
/// the reply a stage's answer with what it cost, or the words of an exception.

#include <filesystem>
#include <string>

#include "judge/wire/wire.hpp"
#include "verify/ladder/ladder.hpp"

namespace ringcraft::judge {

/// The problem that all stages share.
struct StageRequest {
  Problem problem;        ///< as `run` made it
  verify::Inputs inputs;  ///< whole tensors

  static auto fields(auto& self) { return std::tie(self.problem, self.inputs); }
};

/// What came of one stage.
struct StageReply {
  std::string thrown;          ///< what() of the exception that ended it; empty if it came to its end
  int not_written = 0;         ///< the lesson whose file is still its skeleton, if that ended it; else 0
  verify::StageResult result;  ///< if it did
};

/// Writes a request to a file. Throws Error (kMissing) if it cannot.
void write_request(const std::filesystem::path& file, const StageRequest& request);
/// Reads one from an open file. Throws Error if the file holds something else.
StageRequest read_request(int descriptor);
/// Writes a reply to an open file. Throws Error (kMissing) if it cannot.
void write_reply(int descriptor, const StageReply& reply);
/// Reads one. Throws Error if the file holds something else.
StageReply read_reply(const std::filesystem::path& file);

}  // namespace ringcraft::judge
