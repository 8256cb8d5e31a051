// SPDX-License-Identifier: Apache-2.0
#include <fount/app/tool_main.hpp>

#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};
Outcome run(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_tool(std::move(arguments), out, err);
  return {code, out.str(), err.str()};
}

}  // namespace

TEST_CASE("fount prepare writes data and tells how to go on", "[app][tool]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", std::string(1000, 'a') + std::string(1000, 'b'));
  const std::string output = (folder / "out").string();
  const Outcome done = run({"prepare", "--input", input.string(), "--output", output,
                            "--val_fraction", "0.25", "--shard_tokens=1k"});
  CHECK(done.code == 0);
  CHECK(done.err.empty());
  CHECK(mentions(done.out, "2,000 bytes", "char, 2 tokens", "1,500 tokens in 2 shards",
                 "500 tokens in 1 shard\n", output, "--data "));
  const Outcome again = run({"prepare", "--input", input.string(), "--output", output});
  CHECK(again.code == 1);
  CHECK(mentions(again.err, "fount prepare: error: ", "--overwrite"));
  CHECK(run({"prepare", "--input", input.string(), "--output", output, "--overwrite"}).code == 0);
  CHECK(
      run({"prepare", "--input=" + input.string(), "--output=" + output + "_b", "--tokenizer=byte"})
          .code == 0);
  CHECK(std::filesystem::exists(output + "_b/metadata.json"));  // values keep their underscores
}

TEST_CASE("fount stories writes as much as asked for, the same each time", "[app][tool]") {
  const TemporaryFolder folder;
  const std::string file = (folder / "s.txt").string();
  const Outcome done = run({"stories", "--output", file, "--bytes", "20k", "--seed", "3"});
  CHECK(done.code == 0);
  CHECK(mentions(done.out, file, "fount prepare --input " + file, "--split-at-documents"));
  const std::string text = content_of(file);
  CHECK(text.size() >= 20'000);
  CHECK(text.size() < 30'000);
  const Outcome printed = run({"stories", "--output", "-", "--bytes", "20000", "--seed", "3"});
  CHECK(printed.out == text);
  CHECK(run({"stories", "--output", "-", "--bytes", "20000", "--seed", "4"}).out != text);
  const Outcome prepared = run(
      {"prepare", "--input", file, "--split-at-documents", "--output", (folder / "data").string()});
  CHECK(prepared.code == 0);
  CHECK(folder.count() == 2);
}

TEST_CASE("a disk that refuses ends fount with 1 and a reason", "[app][tool]") {
  const Outcome full = run({"stories", "--output", "/dev/full", "--bytes", "100k"});
  CHECK(full.code == 1);
  CHECK(mentions(full.err, "fount stories: error: ", "/dev/full", "No space left on device"));
  CHECK(run({"stories", "--output", "/nowhere/at/all.txt", "--bytes", "1"}).code == 1);
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  std::ostringstream err;
  CHECK(run_tool({"stories", "--output", "-", "--bytes", "1"}, broken, err) == 1);
  CHECK(mentions(err.str(), "standard output"));
}

TEST_CASE("what cannot be understood ends fount with 2 and a hint", "[app][tool]") {
  const auto usage = [](std::vector<std::string> arguments) {
    const Outcome outcome = run(std::move(arguments));
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK(mentions(usage({}), "prepare", "stories"));
  CHECK(mentions(usage({"prepar"}), "unknown verb 'prepar'", "did you mean 'prepare'?"));
  CHECK(mentions(usage({"--verison"}), "did you mean '--version'?"));
  CHECK(mentions(usage({"prepare", "--inptu", "x"}), "'--inptu'", "did you mean '--input'?",
                 "fount prepare --help"));
  CHECK(mentions(usage({"prepare", "--zebra=3"}), "unknown option '--zebra'"));
  CHECK(mentions(usage({"prepare"}), "--input", "required"));
  CHECK(mentions(usage({"prepare", "--input", "a", "--output", "b", "c"}), "c"));
  CHECK(mentions(usage({"prepare", "--input", "a", "--output", "b", "--tokenizer", "bpe"}), "bpe"));
  CHECK(mentions(usage({"prepare", "--input", "a", "--output", "b", "--val-fraction", "x"}),
                 "--val-fraction"));
  CHECK(mentions(usage({"prepare", "--input", "a", "--output", "b", "--val-fraction", "7"}),
                 "val-fraction"));
  CHECK(mentions(usage({"stories", "--output", "-", "--bytes", "many"}), "'many' is not a count"));
  CHECK(mentions(usage({"stories", "--output", "-", "--bytes", "-5"}), "-5"));
  CHECK(mentions(usage({"stories", "--output", "-", "--bytes", "5", "--bytes", "6"}), "--bytes"));
}

TEST_CASE("help and version are answers, not errors", "[app][tool]") {
  const Outcome help = run({"--help"});
  CHECK(help.code == 0);
  CHECK(mentions(help.out, "prepare", "stories"));
  const Outcome verb = run({"prepare", "--help"});
  CHECK(verb.code == 0);
  CHECK(mentions(verb.out, "--val-fraction", "Examples:", "--split-at-documents"));
  CHECK(run({"--version"}).out == std::string("fount ") + version + "\n");
}
