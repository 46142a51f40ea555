// Computes a small problem, writes dumps of it and of claims, and runs verify on them.
#include "tool/claim_scene.hpp"

#include <algorithm>
#include <filesystem>

#include "support/catch.hpp"

namespace ringcraft::tests {

ClaimScene::ClaimScene(Shape shape, Mask mask, Index narrow_value)
    : problem(make_problem(shape, std::move(mask), Layout::kZigzag, 4)),
      value_width(narrow_value > 0 ? narrow_value : shape.head_dim) {
  inputs = verify::make_inputs(verify::make_case(problem, verify::Data::kNormal, 3), DType::kFloat64);
  for (Buffer* tensor : {&inputs.v, &inputs.dout}) clear_columns(*tensor, value_width);
  claim = verify::oracle(problem, inputs).value;
}

Index ClaimScene::width_of(const std::string& name) const {
  if (name == "lse") return 1;
  const bool value = name == "v" || name == "dout" || name == "out" || name == "dv";
  return value ? value_width : problem.shape.head_dim;
}

void ClaimScene::write_input(const std::string& code, bool with_dout) const {
  std::map<std::string, Dumped> tensors;
  for (const auto& [key, tensor] : verify::named(inputs)) {
    const std::string name(key);
    if (name == "dout" && !with_dout) continue;
    tensors[name] = dumped(tensor, code, all_rows(problem.shape.seqlen), width_of(name));
  }
  write_dump(folder.file("in"), tensors);
}

std::map<std::string, Dumped> ClaimScene::dump(const std::string& wide, const std::string& lse,
                                               const std::vector<Position>& rows) const {
  std::map<std::string, Dumped> tensors;
  for (const auto& [key, tensor] : verify::named(claim)) {
    const std::string name(key);
    tensors[name] = dumped(tensor, name == "lse" ? lse : wide, rows, width_of(name));
  }
  return tensors;
}

std::map<std::string, Dumped> ClaimScene::dump(const std::string& wide, const std::string& lse) const {
  return dump(wide, lse, all_rows(problem.shape.seqlen));
}

void ClaimScene::write_claim(const std::map<std::string, Dumped>& tensors) const {
  write_dump(folder.file("claim"), tensors);
}

Ran ClaimScene::judged(const std::string& flags) const {
  return run_tool(folder, "verify --input '" + folder.file("in") + "' " + flags);
}

Ran ClaimScene::judged_whole(const std::string& flags) const {
  return judged("--claim '" + folder.file("claim") + "' " + flags);
}

void ClaimScene::spoil(const std::string& wanted) {
  for (const auto& [name, tensor] : verify::named(claim)) {
    if (name != wanted) continue;
    const Extents& e = tensor.extents();
    const Index row = (e.batch * e.heads - 1) * e.rows + kWrongPosition;
    tensor.values<double>()[static_cast<std::size_t>(row * e.width)] += 0.25;
  }
}

void clear_columns(Buffer& tensor, Index from) {
  const Index width = tensor.extents().width;
  auto numbers = tensor.values<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (static_cast<Index>(i) % width >= from) numbers[i] = 0;
}

void check_ran(const Ran& ran, int exit_code, const std::string& fragment) {
  CAPTURE(ran.out, ran.err, fragment);
  CHECK(ran.exit_code == exit_code);
  CHECK((exit_code == 2 ? ran.err : ran.out).find(fragment) != std::string::npos);
  if (exit_code == 2) CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
}

RowsOfFiles dealt(Layout layout, int virtual_ranks, int files, Position padded, Position seqlen) {
  const Sharding sharding{layout, std::max(padded, seqlen), virtual_ranks};
  RowsOfFiles all(static_cast<std::size_t>(files));
  for (int rank = 0; rank < virtual_ranks; ++rank)
    for (const Position p : sharding.positions(rank))
      all[static_cast<std::size_t>(rank / (virtual_ranks / files))].push_back(p < seqlen ? p : -1);
  return all;
}

void write_ranks(const ClaimScene& scene, const RowsOfFiles& rows, const std::string& name) {
  std::filesystem::remove_all(scene.folder.file("dumps"));
  std::filesystem::create_directory(scene.folder.file("dumps"));
  std::string positions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string path = "dumps/" + name;
    if (const std::size_t at = path.find('#'); at != std::string::npos)
      path.replace(at, 1, std::to_string(i));
    write_dump(scene.folder.file(path), scene.dump("bhsd", "bhs", rows[i]));
    for (const Position p : rows[i]) positions += std::to_string(p) + "\n";
  }
  write(scene.folder.file("positions.txt"), positions);
}

}  // namespace ringcraft::tests
