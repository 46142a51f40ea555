// A wrong call ends with exit code 2 (3 where something is missing), one sentence, and writes nothing.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

struct Refusal {
  const char* arguments;  // IN and OUT stand for files
  const char* fragment;   // of the sentence
};

const Refusal kRefusals[] = {
    {"", "say what to do"},
    {"frobnicate", "frobnicate"},
    {"attend", "--input"},
    {"attend --input IN", "--output"},
    {"attend --input nowhere.safetensors --output OUT", "nowhere.safetensors"},
    {"attend --input IN --output OUT --ranks 0", "ranks: expected at least 1, got 0"},
    {"attend --input IN --output OUT --ranks -3", "ranks: expected at least 1"},
    {"attend --input IN --output OUT --ranks many", "--ranks"},
    {"attend --input IN --output OUT --ranks 2147483647", "--ranks: expected at most 4096, got 2147483647"},
    {"attend --input IN --output OUT --layout zigzig", "zigzag-token, got 'zigzig'"},
    {"attend --input IN --output OUT --window -1", "window: expected a left limit of at least 0"},
    {"attend --input IN --output OUT --cu-seqlens 0,5", "cu_seqlens"},
    {"attend --input IN --output OUT --cu-seqlens 0,7,5,13", "borders that rise"},
    {"attend --input IN --output OUT --cu-seqlens 0,5,", "--cu-seqlens: expected whole numbers"},
    {"attend --input IN --output OUT --cu-seqlens 0,,13", "--cu-seqlens: expected whole numbers"},
    {"attend --input IN --output OUT --ranks", "./ringcraft attend --help"},
    {"attend --input IN --output OUT --per-sequence", "per_sequence: expected cu_seqlens with the borders"},
    {"attend --input IN --output OUT --method gather",
     "--method: expected ring, all-gather, ulysses, hybrid, double-ring, got gather"},
    {"attend --input IN --output OUT --method all-gather --schedule forward",
     "--schedule: expected a method whose gradients go round a ring"},
    {"attend --input IN --output OUT --method all-gather --gather-heads 7",
     "gather_heads: expected a number that divides the"},
    {"attend --input IN --output OUT --method all-gather --node 2",
     "node: expected a method that takes it (double-ring), got all-gather"},
    {"attend --input IN --output OUT --method hybrid", "ulysses: expected a number that divides the 4 ranks"},
    {"attend --input IN --output OUT --method hybrid --ulysses 3",
     "ulysses: expected a number that divides the 4 ranks, got 3"},
    {"attend --input IN --output OUT --method hybrid --ulysses 0", "not in range 1 to 2147483647 (see"},
    {"attend --input IN --output OUT --method all-gather --gather-heads -1",
     "not in range 0 to 2147483647 (see"},
    {"attend --input IN --output OUT --method ulysses --ranks 7", "use the ring or all-gather"},
    {"attend --input IN --output OUT --method double-ring --node 3",
     "node: expected a number that divides the 4 ranks, got 3"},
    {"attend --input IN --output OUT --method rung", "--method"},
    {"attend --input IN --output OUT --ulysses 2", "ulysses: expected a method that takes it"},
    {"attend --input IN --output OUT --schedule sideways", "--schedule"},
    {"attend --input IN --output OUT --backend gpu", "--backend: expected one of threads, mpi, nccl, cuda"},
#ifdef RINGCRAFT_HAS_EXECUTOR  // else the backend itself is missing (attend_test.cpp)
    {"attend --input IN --output OUT --backend cuda-host --dtype float64", "--backend cuda-host"},
#endif
    {"attend --input IN --output OUT --dtype float8", "--dtype"},
    {"attend --input IN --output OUT --trace nowhere/t.json", "--trace: expected a file that can be written"},
    {"attend --input IN --output OUT --trace OUT", "--trace: expected another file than the output"},
    {"attend --input IN --output OUT --trace IN", "--trace: expected another file than the input"},
    {"attend --input IN --output OUT --softmax-scale nan", "softmax_scale"},
    {"attend --input HALF --output OUT", "dout"},
    {"attend --input MIXED --output OUT", "mixed: tensor k: expected the type of q, float32, got float64"},
    {"attend --input TURNED --output OUT",
     "turned: tensor k: expected batch, seqlen, head_dim and type of q"},
    {"attend --input TURNED --output OUT", "save q.transpose(1, 2), and k, v (and dout) alike"},
    {"verify --input MIXED --claim IN", "mixed: tensor k: "},
    {"attend --input NAN --output OUT", ": tensor q: expected finite numbers, got NaN at [0, "},
    {"attend --input IN --output OUT --window 99999999999999999999", "--window: expected less than"},
    {"attend --input IN --output nowhere/OUT", "nowhere"},
    {"attend --input IN --output IN", "--output: expected another file than the input"},
    {"run --input IN --json IN", "--json: expected another file than the input"},
    {"attend --input IN --output OUT surplus", "surplus"},
    {"verify --input IN --claim IN", "out"},
    {"verify --input IN", "verify: expected --input and --claim, or --schedule, got no --claim"},
    {"verify --claim IN", "verify: expected --input and --claim, or --schedule, got no --input"},
    {"verify --schedule IN --input IN", "excludes"},
    {"verify --schedule nowhere.schedule", "--schedule: expected a file that can be read"},
    {"verify --schedule IN", ":1: expected "},
    {"verify --schedule .", "--schedule: expected a regular file"},
    {"verify --schedule /dev/zero", "--schedule: expected a regular file"},
    {"verify --schedule IN --ranks 9", "--schedule excludes --ranks"},
    {"verify --schedule IN --causal", "--schedule excludes --causal"},
    {"run --backend mpi", "run --backend: expected threads, cuda or cuda-host, got mpi"},
    {"run --backend gpu", "--backend: expected one of threads, mpi, nccl, cuda"},
    {"run --text nowhere.txt", "nowhere.txt"},
    {"run --tokens 0", "seqlen"},
    {"run --text /dev/zero --tokens 64", "--text: expected a regular file"},
    {"run --input IN --tokens 5", "excludes --"},
    {"run --json merge.cpp", "--json: expected a file for results, got merge.cpp"},
    {"check 104 --json exercise.cu", "--json: expected a file for results, got exercise.cu"},
    {"run --json nowhere/j.json", "--json: expected a file that can be written"},
    {"run --ranks 2147483647", "--ranks: expected at most 4096, got 2147483647"},
    {"verify --input IN --claim IN --ranks 5000", "--ranks: expected at most 4096, got 5000"},
    {"run --input IN --text IN", "--text"},
    {"check 999", "999"},
    {"start 999", "999"},
    {"check 104 --seed -1", "--seed: expected a whole number of at most 19 digits, got -1"},
    {"check 104 --seed 18446744073709551616", "--seed: expected a whole number"},
    {"start 301.deadlock --seed 1e3", "--seed: expected a whole number"},
    {"check 104 --debug --json d.json", "--debug alone"},
    {"hint", "no exercise is started"},
    {"hint 999", "lesson: expected a lesson that is here, got 999"},
    {"hint merge", "lesson: expected a number of the road, such as 104, got merge"},
    {"hint 104.nothing", "lesson: expected an exercise that is here, got 104.nothing"},
    {"diff", "lesson"},
    {"diff 207", "got 207, which is to come: Hopper; see ./ringcraft lessons"},
    {"start 207", "got 207, which is to come"},
    {"check 207", "got 207, which is to come"},
    {"diff 104", "diff: expected your file"},
    {"watch", "watch needs a terminal"},
    {"watch 104", "104"},
    {"next 104", "104"},
    {"export .", "export: expected a folder outside of"},
    {"export ''", "command line: expected a value after export, got an empty one"},
    {"attend --input IN --output OUT --softmax-scale ''", "a value after --softmax-scale, got an empty one"},
    {"check 104 --json=", "a value after --json, got an empty one"},
    {"gradescope", "LESSONS is required"},
    {"grade", "DIR is required"},
    {"grade IN --jobs 0", "--jobs"},
    {"doctor surplus", "surplus"},
    {"bench cores", "bench: expected kernels, or nothing"},
    {"bench --tune", "bench: expected kernels before --tune"},
    {"bench kernels --tokens 512", "bench kernels: expected --tune, --python or --json"},
    {"bench kernels --tune --quick", "bench kernels: expected --tune, --python or --json"},
    {"bench --tokens 3", "bench --tokens: expected at least 4"},
    {"bench --rounds 0", "bench --rounds: expected at least 1"},
    {"bench --threads 0", "bench --threads: expected 1 to 1024"},
    {"bench --quick --json nowhere/OUT", "nowhere"},
    {"simulate --machine abacus", "--machine: expected 8xA100, 8xH100, or a JSON file, got abacus"},
    {"simulate --machine IN", "expected JSON, got "},
    {"simulate --method rung", "--method"},
    {"simulate --ranks 0", "ranks: expected at least 1, got 0"},
    {"simulate --ranks 8,5000", "--ranks: expected at most 4096, got 5000"},
    {"simulate --ranks many", "--ranks"},
    {"simulate --tokens 0", "--tokens: expected at least 1, got 0"},
    {"simulate --head-dim -1", "--head-dim: expected at least 1, got -1"},
    {"simulate --kv-heads 7", "heads: expected a multiple of kv_heads"},
    {"simulate --layout zigzig", "zigzag-token, got 'zigzig'"},
    {"simulate --pass backward", "--pass: expected forward or both"},
    {"simulate --schedule sideways", "--schedule"},
    {"simulate --slow-link 3", "--slow-link: expected two ranks"},
    {"simulate --slow-link 3-4:", "--slow-link: expected two ranks"},
    {"simulate --slow-link 3-4:0", "factor of a slow link: expected a number above 0, got 0;"},
    {"simulate --slow-link 3-3", "slow link: expected two ranks, got rank 3 twice"},
    {"simulate --slow-link 7-8", "slow link: expected ranks of 0 to 7, got rank 8"},
    {"simulate --slow-rank x", "--slow-rank: expected a rank"},
    {"simulate --slow-rank 8:2", "slow rank: expected ranks of 0 to 7, got rank 8"},
    {"simulate --ranks 8,16 --trace OUT", "--trace: expected one number of ranks, got 2 numbers"},
    {"simulate --ranks 1024 --svg OUT",
     "--svg: expected ranks that send keys and values at most 50000 times"},
    {"simulate --trace nowhere/t.json", "--trace: expected a file that can be written"},
    {"simulate --json nowhere/t.json", "--json: expected a file that can be written"},
    {"test", "launcher"},
};

void replace(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
}

}  // namespace

TEST_CASE("scores out of range end as a wrong answer that is not written") {
  const Folder folder;
  write_inputs(folder.file("in"), make_problem({1, 2, 1, 13, 4}, full_mask(), Layout::kZigzag, 2), 1);
  const Ran ran = run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                                       " --softmax-scale 1e300");
  CHECK(ran.exit_code == 1);
  CHECK(ran.err.find("the scores leave the range of float32") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("out")));
}

TEST_CASE("every wrong call is refused with a sentence and leaves no file") {
  const Folder folder;
  verify::Inputs inputs =
      verify::make_inputs(verify::make_case(make_problem({1, 2, 1, 13, 4}, full_mask(), Layout::kZigzag, 2),
                                            verify::Data::kNormal, 1),
                          DType::kFloat32);
  write_inputs(folder.file("in"), inputs);
  const std::string input = contents(folder.file("in"));
  inputs.dout = Buffer({1, 2, 12, 4}, DType::kFloat32);
  for (float& x : inputs.dout.values<float>()) x = 1;
  write_inputs(folder.file("half"), inputs);
  inputs.dout = Buffer();
  verify::Inputs mixed = verify::converted(inputs, DType::kFloat32);
  mixed.k = converted(mixed.k, DType::kFloat64);
  write_inputs(folder.file("mixed"), mixed);
  verify::Inputs turned{Buffer({1, 13, 2, 4}, DType::kFloat32), Buffer({1, 13, 1, 4}, DType::kFloat32),
                        Buffer({1, 13, 1, 4}, DType::kFloat32), Buffer()};
  for (const auto& [name, tensor] : verify::named(turned))
    for (float& x : tensor.values<float>()) x = 1;
  write_inputs(folder.file("turned"), turned);
  inputs.q.values<float>()[7] = std::numeric_limits<float>::quiet_NaN();
  write_inputs(folder.file("nan"), inputs);
  ::setenv("RINGCRAFT_WORKSPACE", folder.file("exercises").c_str(), 1);  // not the reader's own
  for (const Refusal& refusal : kRefusals) {
    std::string arguments = refusal.arguments;
    replace(arguments, "IN", folder.file("in"));
    replace(arguments, "NAN", folder.file("nan"));
    replace(arguments, "TURNED", folder.file("turned"));
    replace(arguments, "MIXED", folder.file("mixed"));
    replace(arguments, "HALF", folder.file("half"));
    replace(arguments, "OUT", folder.file("out"));
    CAPTURE(refusal.arguments);
    const Ran ran = run_tool(folder, arguments);
    CAPTURE(ran.out, ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.err.find(refusal.fragment) != std::string::npos);
    CHECK(ran.err.starts_with("ringcraft: "));
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder.file("out")));
    CHECK(contents(folder.file("in")) == input);
  }
}

TEST_CASE("help is there for every command, with an example") {
  const Folder folder;
  for (const char* command : {"", "run", "attend", "verify", "bench", "start", "check", "watch", "next",
                              "hint", "diff", "export", "grade", "gradescope", "doctor"}) {
    const Ran ran = run_tool(folder, std::string(command) + " --help");
    CAPTURE(command);
    CHECK(ran.exit_code == 0);
    CHECK(ran.out.find("Example: ./ringcraft ") != std::string::npos);
  }
}
