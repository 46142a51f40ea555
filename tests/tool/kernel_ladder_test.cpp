// Lessons 201 to 206 in the report of `run`: the kernels, on the first tokens of the shared problem.
#include "tool/attention/kernel_ladder.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "support/catch.hpp"
#include "tool/attention/ladder_report.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/oracle.hpp"

using namespace ringcraft;

namespace {

verify::Case case_of(Index head_dim, Mask mask) {
  return verify::make_case(make_problem({2, 6, 3, 41, head_dim}, std::move(mask), Layout::kStriped, 3),
                           verify::Data::kNormal, 8);
}

#ifdef RINGCRAFT_HAS_EXECUTOR
// Of lessons 201 to 206.
std::vector<std::string> kernel_stages_of(const verify::Report& report) {
  std::vector<std::string> all;
  for (const verify::ReportRow& row : report.rows)
    if (row.id.starts_with('2')) all.push_back(row.id);
  return all;
}

std::vector<std::string> kernel_stages_of_the_readme() {
  std::ifstream readme(RINGCRAFT_SOURCE_DIR "/README.md");
  const std::string page{std::istreambuf_iterator<char>(readme), {}};
  std::istringstream shown(page.substr(page.find("<!-- output: run -->")));
  std::vector<std::string> all;
  for (std::string line; std::getline(shown, line);)
    if (line.starts_with('2') && line.ends_with("  right")) all.push_back(line.substr(0, line.find("  ")));
  return all;
}
#endif

}  // namespace

TEST_CASE("the first tokens are the rows of the first batch entry, rounded, and their packs end with them") {
  const verify::Case c = case_of(5, {.right = 0, .cu_seqlens = {0, 7, 20, 41}});
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  const auto [problem, first] = tool::first_tokens(c.problem, inputs, 20);
  CHECK(problem.shape.batch == 1);
  CHECK(problem.shape.seqlen == 20);
  CHECK(problem.mask.cu_seqlens == std::vector<Position>{0, 7, 20});
  CHECK(problem.softmax_scale == c.problem.softmax_scale);
  CHECK(tool::first_tokens(c.problem, inputs, 10).first.mask.cu_seqlens == std::vector<Position>{0, 7, 10});
  CHECK(tool::first_tokens(c.problem, inputs, 256).first.shape.seqlen == 41);
  REQUIRE(first.k.extents() == Extents{1, 3, 20, 5});
  REQUIRE(first.k.dtype() == DType::kFloat32);
  const auto whole = inputs.k.values<double>();
  const auto part = first.k.values<float>();
  for (std::size_t head = 0; head < 3; ++head)
    for (std::size_t i = 0; i < 100; ++i)
      CHECK(part[head * 100 + i] == float_from_bfloat16(bfloat16_from(whole[head * 205 + i])));
}

TEST_CASE("the kernels' stages come between lessons 108 and 302, and each is right, at the cost of theory") {
  const bool gpu = tool::kernel_place(tool::Backend::kThreads, Layout::kZigzag).gpu;
  for (const Mask& mask : {causal_mask(), window_mask(9), Mask{.right = 0, .cu_seqlens = {0, 7, 20, 41}}})
    for (const tool::Backend backend : {tool::Backend::kCudaHost, tool::Backend::kCuda}) {
      if (backend == tool::Backend::kCuda && !gpu) continue;
      const verify::Case c = case_of(5, mask);
      const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
      verify::Report report;
      for (const char* id : {"108 fast backward", "302 distributed softmax"}) {
        report.rows.emplace_back().id = id;
        report.rows.back().status = verify::Status::kPassed;
      }
      tool::add_kernel_stages(report, tool::kernel_place(backend, c.problem.layout), c.problem, inputs);
      CHECK(report.rows.front().id == "108 fast backward");
      CHECK(report.rows.back().id == "302 distributed softmax");
      CHECK(report.count(verify::Status::kFailed) == 0);
#ifdef RINGCRAFT_HAS_EXECUTOR
      CHECK(report.count(verify::Status::kPassed) == 14);
      CHECK(report.rows[1].id == "201 naive kernels");
      CHECK(kernel_stages_of(report) == kernel_stages_of_the_readme());
      if (backend == tool::Backend::kCudaHost) CHECK(report.rows[1].claim == "equals dense, 41 tokens");
      for (const verify::ReportRow& row : report.rows)
        for (const verify::Figure& figure : row.figures) {
          CAPTURE(row.id, figure.name, figure.value);
          if (figure.theory) CHECK(figure.value == Approx(*figure.theory));
        }
#else
      REQUIRE(report.rows.size() == 3);
      CHECK(report.rows[1].sentence.find("libboost-context-dev") != std::string::npos);
#endif
    }
}

TEST_CASE("a head_dim that the kernels do not take is a row that was not tried, with the reason") {
  const verify::Case c = case_of(129, causal_mask());
  verify::Report report;
  tool::add_kernel_stages(report, tool::kernel_place(tool::Backend::kCudaHost, c.problem.layout), c.problem,
                          verify::make_inputs(c, DType::kFloat32));
  REQUIRE(report.rows.size() == 1);
  CHECK(report.rows[0].status == verify::Status::kSkipped);
#ifdef RINGCRAFT_HAS_EXECUTOR
  CHECK(report.rows[0].sentence == "not tried: the kernels take a head_dim of at most 128, this is 129");
#endif
}

TEST_CASE("a stage in bfloat16 may round to it, and not be wrong by a percent") {
  // Dense attention with a factor on all that it answers: a percent is far less than an element may be wrong.
  const auto dense_times = [](double factor) {
    verify::Stage stage = verify::stage_named("dense");
    stage.run = [=, run = stage.run](const Problem& problem, const verify::Inputs& inputs,
                                     verify::Measurement& cost) {
      verify::Answer answer = run(problem, inputs, cost);
      for (Buffer* tensor : {&answer.out, &answer.dq, &answer.dk, &answer.dv})
        for (float& x : tensor->values<float>()) x = static_cast<float>(factor * x);
      for (const auto& [name, tensor] : verify::named(answer))
        if (name != "lse") tensor = ringcraft::converted(tensor, DType::kBFloat16);
      return answer;
    };
    stage.name = "narrow";
    stage.predecessor = "dense";
    stage.dtype = DType::kBFloat16;
    return stage;
  };
  // For extreme problems: three tokens, or a window of one key, whose dq and dk are 0.
  for (const Mask& mask : {causal_mask(), window_mask(0)})
    for (const Position tokens : {3, 41}) {
      const verify::Case c = verify::make_case(
          make_problem({1, 4, 2, tokens, 8}, mask, Layout::kContiguous, 1), verify::Data::kNormal, 8);
      const verify::Inputs inputs =
          verify::converted(verify::make_inputs(c, DType::kBFloat16), DType::kFloat32);
      for (const double factor : {1.0, 1.01}) {
        CAPTURE(tokens, factor);
        const std::vector<verify::Stage> stages{verify::stage_named("dense"), dense_times(factor)};
        const verify::Report report = tool::climb_stages("", stages, c.problem, inputs);
        CHECK(report.rows[0].status == verify::Status::kPassed);
        CHECK((report.rows[1].status == verify::Status::kPassed) == (factor == 1.0));
        INFO(report.rows[1].sentence);
        CHECK((report.rows[1].sentence.find("but together: ") != std::string::npos) == (factor != 1.0));
      }
    }
}
