#pragma once
// Machines of the user: a known name or a JSON file, and the slow links and ranks of the flags.

#include <string>
#include <vector>

#include "ringcraft/parallel/machine.hpp"

namespace ringcraft::tool {

// "8xA100, 8xH100"
std::string machine_names();

// The known machine of this name, or the one that the file of this name describes. Throws Error for a file
// with anything that is not a machine.
Machine machine_named(const std::string& name_or_file);

// Reads such a file's text; `file` is its name for errors.
Machine read_machine(const std::string& text, const std::string& file);

// "3-4" or "3-4:10", the link that is so many times slower; "5" or "5:1.5", the rank. Without a number: 2
// times.
SlowLink slow_link_of(const std::string& text);
SlowRank slow_rank_of(const std::string& text);

}  // namespace ringcraft::tool
