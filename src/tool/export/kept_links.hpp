#pragma once
// Links of Markdown pages in a tree that lacks some files.

#include <functional>
#include <string>
#include <string_view>

namespace ringcraft::tool {

// The text of a page with a link reduced to its words wherever `is_there` denies its target: a path below the
// root, normal, without a "#part". Links to the web stay; code is no link.
std::string without_dead_links(std::string_view page_path, std::string_view text,
                               const std::function<bool(const std::string&)>& is_there);

}  // namespace ringcraft::tool
