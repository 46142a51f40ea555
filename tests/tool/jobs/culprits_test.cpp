// Ranks to blame, from the last letters of their records.
#include "tool/jobs/culprits.hpp"

#include "support/catch.hpp"

using namespace ringcraft::tool;

namespace {

// A letter for each rank, as in job_record.hpp; '-' is a rank without a record.
Records records_of(const std::string& letters) {
  Records records;
  for (const char letter : letters) records.push_back({static_cast<RankEvent>(letter), 0});
  return records;
}

}  // namespace

TEST_CASE(
    "ranks that keep a job waiting are those that have not joined, or not left after rank 0 has written") {
  using Ranks = std::vector<int>;
  CHECK(laggards(records_of("bb-b")) == Ranks{2});
  CHECK(laggards(records_of("bbb")) == Ranks{0, 1, 2});
  CHECK(laggards(records_of("jjbj")) == Ranks{2});
  CHECK(laggards(records_of("jjjj")).empty());  // messages are under way: the ranks themselves know
  CHECK(laggards(records_of("djed")) == Ranks{1});
  CHECK(laggards(records_of("ddd")) == Ranks{0, 1, 2});
}

TEST_CASE("a job that starts says how many ranks have started and how many have joined") {
  CHECK(joining(records_of("----")) == "waiting for 4 ranks: 0 have started, 0 have joined");
  CHECK(joining(records_of("bb--")) == "waiting for 4 ranks: 2 have started, 0 have joined");
  CHECK(joining(records_of("bjjb")) == "waiting for 4 ranks: 4 have started, 2 have joined");
  CHECK(joining(records_of("jjjj")).empty());
  CHECK(joining(records_of("jj--")).empty());  // the others are on another host
}

TEST_CASE("ranks without a record are absent until one has joined, and on other hosts from then on") {
  using Ranks = std::vector<int>;
  CHECK(laggards(records_of("bb--")) == Ranks{2, 3});
  CHECK(laggards(records_of("jj--")).empty());
  CHECK(laggards(records_of("dd--")) == Ranks{2, 3});
  CHECK(laggards(records_of("dj--")) == Ranks{1});
  CHECK(silent_ranks(records_of("bb--")) == "ranks 0, 1, 2, 3 of the job, before it joined");
  CHECK(silent_ranks(records_of("aa--")) == "one of ranks 2, 3 on other hosts, without a message");
  CHECK(silent_ranks(records_of("aa-")) == "rank 2 on other hosts, without a message");
  CHECK(silent_ranks(records_of("aj--")) == "rank 1, or one of ranks 2, 3 on other hosts, without a message");
}

TEST_CASE("ranks that ended without a message are those that neither ended nor were asked to") {
  CHECK(silent_ranks(records_of("ajaa")) == "rank 1 of the job, without a message");
  CHECK(silent_ranks(records_of("jaba")) == "ranks 0, 2 of the job, without a message");
  CHECK(silent_ranks(records_of("eee")) == "mpirun");
}
