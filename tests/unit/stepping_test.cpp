// The stepper: keys and jumps, screens that fit, the map of the tiles, sums, JSON and the picture.
#include "walkthrough/step/stepping.hpp"

#include <doctest/doctest.h>

#include <regex>
#include <sstream>

#include "sim/io/online_softmax.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/step/step_json.hpp"
#include "walkthrough/step/step_picture.hpp"
#include "walkthrough/step/tile_map.hpp"
#include "walkthrough/step/traffic_rows.hpp"
#include "walkthrough/step/value_blocks.hpp"

namespace flashbook::step {
namespace {

StepRun example(const char* algorithm, bool causal = false) {
  return run_steps(io::find_algorithm(algorithm), worked_example(DType::fp32, causal), {{2, 2}});
}

StepRun random_run(const io::Algorithm& algorithm, Index n, Index d, io::Blocks blocks,
                   Index heads = 1) {
  flashbook_problem p = dense_problem(1, heads, heads, n, n, d, d);
  p.causal = 1;
  io::Schedule schedule = {blocks};
  if (algorithm.takes.splits) schedule.splits = 2;
  return run_steps(algorithm, random_subject(AttentionProblem(p), 1), schedule);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string without_ink(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

/// What the screens say that a reader sees who presses these keys: the numbers of the steps.
std::vector<int> seen(const StepRun& run, const std::vector<Key>& keys, std::string* text = nullptr,
                      Index terminal_lines = 50) {
  std::ostringstream out;
  std::size_t at = 0;
  step_by_key(
      run, [&] { return at < keys.size() ? keys[at++] : Key{Key::end_of_input}; }, out, Ink::plain,
      [&] { return terminal_lines; });
  std::vector<int> numbers;
  const std::string all = out.str();
  const std::regex step("step ([0-9]+) of");
  for (std::sregex_iterator i(all.begin(), all.end(), step), end; i != end; ++i)
    numbers.push_back(std::stoi((*i)[1]));
  if (text != nullptr) *text = all;
  return numbers;
}

Key letter(char c) {
  return {Key::character, c};
}

/// j, the name, enter.
std::vector<Key> jump_keys(const std::string& name) {
  std::vector<Key> keys = {letter('j')};
  for (const char c : name) keys.push_back(letter(c));
  keys.push_back({Key::enter});
  return keys;
}

using Steps = std::vector<int>;

}  // namespace

TEST_CASE("stepping: next and back by any of their keys, and no farther than the ends") {
  const StepRun run = example("fa2_forward");
  REQUIRE(run.size() == 6);
  const Key n = letter('n'), b = letter('b');
  CHECK(seen(run, {}) == Steps{1});
  CHECK(seen(run, {n, n, b, letter('q'), n}) == Steps{1, 2, 3, 2});
  CHECK(seen(run, {letter(' '), {Key::enter}, {Key::right}, {Key::down}, {Key::page_down}}) ==
        Steps{1, 2, 3, 4, 5, 6});
  CHECK(seen(run, {letter('l'), {Key::left}, {Key::up}, {Key::erase}, {Key::page_up}}) ==
        Steps{1, 6, 5, 4, 3, 2});
  CHECK(seen(run, {{Key::end}, {Key::home}, letter('l'), letter('f')}) == Steps{1, 6, 1, 6, 1});
  CHECK(seen(run, {{Key::escape}, n}) == Steps{1});
  std::string text;
  CHECK(seen(run, {b}, &text) == Steps{1, 1});
  CHECK(text.find("this is the first step") != std::string::npos);
  CHECK(seen(run, {letter('l'), n}, &text) == Steps{1, 6, 6});
  CHECK(text.find("this is the last step") != std::string::npos);
  CHECK(seen(run, {letter('x')}, &text) == Steps{1, 1});
  CHECK(text.find("that key does nothing") != std::string::npos);
}

TEST_CASE("stepping: on a short terminal the heading goes, then the reader is told") {
  const StepRun run = example("fa2_forward");
  const auto shown = [&](Index terminal_lines) {
    std::string text;
    seen(run, {}, &text, terminal_lines);
    return text.substr(std::string(clear_screen).size());
  };
  const std::string heading = heading_of(run, Ink::plain);
  const auto taken = static_cast<Index>(lines_of(shown(50)).size());
  CHECK(shown(50).starts_with(heading));
  CHECK(shown(taken) == shown(50));
  CHECK(shown(taken - 1).starts_with("step 1 of 6"));
  CHECK(shown(taken - 1).find("too tall") == std::string::npos);
  CHECK(shown(taken - 3) == shown(taken - 1));
  CHECK(shown(taken - 4).find("too tall: " + std::to_string(taken - 3) +
                              " lines, the terminal has " + std::to_string(taken - 4)) !=
        std::string::npos);
}

TEST_CASE("stepping: a jump is typed; escape forgets it") {
  const StepRun run = example("fa2_forward");
  CHECK(seen(run, jump_keys("5")) == Steps{1, 5});
  CHECK(seen(run, jump_keys(" 1, 0 ")) == Steps{1, 4});
  CHECK(seen(run, {letter('j'), letter('5'), {Key::escape}, letter('n')}) == Steps{1, 1, 2});
}

TEST_CASE("jump: to a number, a tile, first and last; else it says why not") {
  const StepRun run = example("fa2_forward"), causal = example("fa2_forward", true);
  CHECK(jump(run, 2, "1") == Place{0});
  CHECK(jump(run, 2, "6") == Place{5});
  CHECK(jump(run, 2, "first") == Place{0});
  CHECK(jump(run, 2, "last") == Place{5});
  CHECK(jump(run, 0, "0,1") == Place{1});
  CHECK(jump(run, 4, "0,1") == Place{1});  // around the end
  CHECK(jump(run, 2, "") == Place{2});
  for (const char* name : {"0", "7", "-1", "x", "1x", "1,x", "99999999999999999999"}) {
    CAPTURE(name);
    CHECK(jump(run, 2, name).at == 2);
    CHECK(jump(run, 2, name).message.find("is no step: type 1 to 6") != std::string::npos);
  }
  CHECK(jump(run, 2, "2,0").message == "there is no tile 2,0: i is 0 to 1, j is 0 to 1");
  CHECK(jump(run, 2, "0,-1").message == "there is no tile 0,-1: i is 0 to 1, j is 0 to 1");
  CHECK(jump(causal, 2, "0,1") == Place{2, "tile 0,1 is skipped: the mask hides all of it"});
  CHECK(jump(example("standard_forward"), 0, "0,0").message.find("no tiles") != std::string::npos);
}

TEST_CASE("jump: a tile that several kernels visit is the next one") {
  const StepRun run = example("three_kernel_backward");
  const Index first = jump(run, 0, "1,1").at, second = jump(run, first, "1,1").at;
  CHECK(run[first].kernel == 1);
  CHECK(run[second].kernel == 2);
  CHECK(jump(run, second, "1,1").at == first);
}

TEST_CASE("screens: 80 columns and some 40 lines where tiles are at most 4 × 4 and d = 4") {
  for (const io::Algorithm& algorithm : io::algorithms())
    for (const Index block : {2, 3, 4}) {
      CAPTURE(std::string(algorithm.name));
      // Where sums return from HBM there is a row of numbers more.
      const std::size_t most_lines = algorithm.streams.sums ? 44 : 40;
      const StepRun run = random_run(algorithm, 8, 4, {block, block});
      for (Index at = 0; at < run.size(); ++at) {
        const std::string screen = screen_of(run, at, Ink::plain);
        const auto lines = lines_of(screen);
        CAPTURE(screen);
        if (algorithm.takes.blocks) CHECK(lines.size() <= most_lines);
        for (const std::string& line : lines) CHECK(width_of(line) <= 80);
        CHECK(without_ink(screen_of(run, at, Ink::coloured)) == screen);
      }
    }
}

TEST_CASE(
    "screens: long runs, large tiles and many heads stay in 80 columns, and cuts are marked") {
  const StepRun run = random_run(io::find_algorithm("fa2_backward"), 60, 12, {16, 5}, 3);
  for (Index at = 0; at < run.size(); at += 7)
    for (const std::string& line : lines_of(screen_of(run, at, Ink::plain))) {
      CAPTURE(line);
      CHECK(width_of(line) <= 80);
    }
  const std::string screen = screen_of(run, run.size() - 20, Ink::plain);
  for (const char* mark : {"…", "⋮", "[16, 12]", "head 2"})
    CHECK(screen.find(mark) != std::string::npos);
}

TEST_CASE("values: what S hides is a dot in S, P, dP and dS, and nowhere else") {
  Matrix<float> S(1, 2), x(1, 2);
  S << 1, io::minus_infinity;
  x << 1, 2;
  for (const char* name : {"S", "P = exp(S − m)", "dP = dO Vᵀ", "dS = P ∘ (dP − Δ)"})
    CHECK(block_of({name, x}, &S) == Block{name, "1.000     ·"});
  CHECK(block_of({"O", x}, &S) == Block{"O", "1.000 2.000"});
  CHECK(block_of({"P", x}, nullptr) == Block{"P", "1.000 2.000"});
}

TEST_CASE("values: what is no number has a sign of its own") {
  CHECK(number_text(-0.0001) == "0.000");
  CHECK(number_text(-std::numeric_limits<double>::infinity()) == "−∞");
  CHECK(number_text(std::numeric_limits<double>::infinity()) == "∞");
  CHECK(number_text(std::nan("")) == "NaN");
  CHECK(number_text(123456) == "123000");
  CHECK(number_text(-1e30) == "-1e+30");
}

TEST_CASE("values: up to 8 rows and columns are shown, and of more the first 4") {
  const auto block = [](Index rows, Index columns) {
    return block_of({"O", Matrix<float>::Zero(rows, columns)}, nullptr);
  };
  const std::string four = "0.000 0.000 0.000 0.000";
  CHECK(block(8, 8).size() == 9);
  CHECK(block(8, 8)[0] == "O");
  CHECK(block(8, 8)[1] == four + " " + four);
  CHECK(block(9, 4) == Block{"O  [9, 4]", four, four, four, four, "    ⋮"});
  CHECK(block(1, 9) == Block{"O  [1, 9]", four + " …"});
  CHECK(block(9, 1)[0] == "O  [9]");
}

TEST_CASE("map: done, now, to come and skipped, as the run goes") {
  const StepRun run = example("fa2_forward", true);  // (0,0), end, (1,0), (1,1), end
  REQUIRE(run.size() == 5);
  using enum TileState;
  using States = std::vector<TileState>;
  CHECK(tile_map(run, 0).states == States{now, skipped, to_come, to_come});
  CHECK(tile_map(run, 1).states == States{done, skipped, to_come, to_come});
  CHECK(tile_map(run, 2).states == States{done, skipped, now, to_come});
  CHECK(tile_map(run, 3).states == States{done, skipped, done, now});
  CHECK(tile_map(run, 4).states == States{done, skipped, done, done});
  CHECK(tile_map(example("standard_forward"), 0).states.empty());
}

TEST_CASE("map: each kernel and each head has its own; a phase before them shows the next") {
  const StepRun run = random_run(io::find_algorithm("three_kernel_backward"), 4, 2, {2, 2}, 2);
  for (Index at = 0; at < run.size(); ++at) {
    const TileMap map = tile_map(run, at);
    CAPTURE(at);
    CHECK(map.count(TileState::skipped) == 1);
    CHECK(map.count(TileState::now) == (run[at].tile ? 1 : 0));
    CHECK(map.kernel == std::max<Index>(run[at].kernel, 1));
    if (run[at].tile) CHECK(map.head == run[at].tile->head);
    if (run[at].kernel == 0) CHECK(map.count(TileState::to_come) == 3);
  }
}

TEST_CASE("totals: after the last step they are the report's, for every algorithm") {
  for (const io::Algorithm& algorithm : io::algorithms()) {
    CAPTURE(std::string(algorithm.name));
    const StepRun run = random_run(algorithm, 9, 3, {2, 4}, 2);
    Traffic here;
    for (Index at = 0; at < run.size(); ++at) {
      const TrafficRow bytes = traffic_of(run, at).bytes;
      here += bytes.here;
      CHECK(bytes.so_far == here);
    }
    CHECK(here == Traffic{run.report.bytes_read(), run.report.bytes_written()});
    for (std::size_t t = 0; t < run.report.tensors.size(); ++t)
      CHECK(run.so_far.back()[t] == run.report.tensors[t].counts);
  }
}

TEST_CASE("json: every step with its place, values, moves and sums") {
  const StepRun run = example("fa2_forward", true);
  const auto json = as_json(run, 0, run.size());
  CHECK(json["steps"].size() == 5);
  CHECK(json["step_count"] == 5);
  const auto& step = json["steps"][3];
  CHECK(step["step"] == 4);
  CHECK(step["tile"]["i"] == 1);
  CHECK(step["tile"]["j"] == 1);
  CHECK(step["tile"]["queries"] == nlohmann::ordered_json{2, 4});
  CHECK(json["steps"][1]["tile"].is_null());
  CHECK(step["shown"][0]["name"] == "S");
  CHECK(step["shown"][0]["values"][0][1] == "-inf");
  CHECK(step["shown"][3]["name"] == "alpha");
  CHECK(step["moves"][0]["tensor"] == "K");
  CHECK(step["moves"][0]["kind"] == "load");
  CHECK(step["moves"][0]["bytes"] == 16);
  CHECK(json["steps"][4]["so_far"]["bytes"]["read"] == run.report.bytes_read());
  CHECK(json["steps"][4]["so_far"]["bytes"]["written"] == run.report.bytes_written());
  CHECK(as_json(run, 2, 3)["steps"].size() == 1);
  CHECK(as_json(run, 2, 3)["steps"][0]["step"] == 3);
}

TEST_CASE("table: two blanks between columns, and one where 80 columns are too few for two") {
  const std::string name(70, 'n');
  CHECK(table({{name, "O", "LSE"}, {"", "1", "2"}}).find("n  O  LSE\n") != std::string::npos);
  CHECK(table({{name, "O", "dSum"}, {"", "1", "2"}}).find("n O dSum\n") != std::string::npos);
}

TEST_CASE("picture: a box a tile of S and a tile of SRAM, an arrow a way") {
  const auto count = [](const std::string& text, const std::string& part) {
    int n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  const StepRun run = example("fa2_forward", true);
  const std::string svg = picture_of(run, 3);
  CHECK(count(svg, "class=\"now\"") == 1 + 1);  // and the legend
  CHECK(count(svg, "class=\"done\"") == 2 + 1);
  CHECK(count(svg, "class=\"skipped\"") == 1 + 1);
  CHECK(count(svg, "class=\"tile\"") == 7);   // Q O m l K V S
  CHECK(count(svg, "class=\"arrow\"") == 2);  // K and V come
  CHECK(count(svg, "prefers-color-scheme:dark") == 1);
  CHECK(svg.find("step 4 of 5, tile 1,1: queries 2–3, keys 2–3") != std::string::npos);
}

}  // namespace flashbook::step
