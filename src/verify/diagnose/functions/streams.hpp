#pragma once
/// @file
/// Parts of the diagnosis of calls on streams.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/diagnose.hpp"
#include "verify/streams/stream_misuse.hpp"

namespace ringcraft::verify::streams {

using Asked = StreamExhibit::Asked;

using verify::moves;

/// Whether this law holds for every one of them.
bool all_of(const std::vector<Asked>& asked, const std::function<bool(const Asked&)>& law);
/// Whether a start has operations of both kinds, or more than one: others tell nothing about groups.
std::vector<Asked> with_several(const std::vector<Asked>& starts);

/// The groups of the starts: none, one for each operation, one for each kind, ...
std::optional<Cause> cause_of_groups(const std::vector<Asked>& starts);
/// The operations: left out, repeated, exchanged, with other peers, bytes or streams.
std::vector<Cause> causes_of_operations(const std::vector<Asked>& starts);

}  // namespace ringcraft::verify::streams
