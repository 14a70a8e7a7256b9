#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "cpu_reference/error.hpp"
#include "walkthrough/command_name.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/text_width.hpp"
#include "walkthrough/usage_error.hpp"

namespace {

constexpr int bad_input = 2;

int complain(const std::string& message) {
  std::cerr << "flashbook: " << message << '\n';
  return bad_input;
}

/// CLI11's help, in 80 columns: what is broken off stands below its description.
class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::istringstream lines(Formatter::make_help(app, std::move(name), mode));
    std::string out;
    for (std::string line; std::getline(lines, line);)
      out += flashbook::wrapped(line, line.rfind("  ", 0) == 0 ? get_column_width() : 0);
    return out;
  }
};

/// The verb the user was trying.
const CLI::App& tried(const CLI::App& app) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  return *verb;
}

/// "./book sim"
std::string command_of(const CLI::App& app, const CLI::App& verb) {
  if (&verb == &app) return flashbook::command_name();
  return command_of(app, *verb.get_parent()) + " " + verb.get_name();
}

/// What a usage error says. CLI11 does not name the word that should have been a verb.
std::string told(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = tried(app);
  const std::string command = command_of(app, verb);
  const std::vector<std::string> words = verb.remaining();
  const bool has_verbs = !verb.get_subcommands([](const CLI::App*) { return true; }).empty();
  const std::string what = has_verbs && !words.empty() && words.front().rfind('-', 0) != 0
                               ? "'" + command + "' has no verb '" + words.front() + "'"
                               : flashbook::usage_error(error);
  return what + "; see '" + command + " --help'";
}

/// An unset shell variable must not pass for a flag that was left out.
void refuse_empty_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string before = argv[i - 1];
    if (argument.empty() && before.rfind('-', 0) == 0)
      throw flashbook::InputError(before +
                                  " is given an empty value: give it one, or leave the flag out");
    if (argument.empty())
      throw flashbook::InputError("argument " + std::to_string(i) + ", after '" + before +
                                  "', is empty: fill it, or leave it out");
    if (argument.rfind("--", 0) == 0 && argument.back() == '=')
      throw flashbook::InputError(argument + " has no value: give it one, or leave the flag out");
  }
}

/// Whoever reads the output must learn that it is not whole.
int checked(int status) {
  if (std::cout.flush()) return status;
  return complain("the output could not be written: is the disk full, or the pipe closed?");
}

int run(int argc, char** argv) {
  refuse_empty_arguments(argc, argv);
  CLI::App app("FlashAttention you can read, run, count and check.", flashbook::command_name());
  app.formatter(std::make_shared<Help>());
  app.require_subcommand(0, 1);
  flashbook::add_tour(app);
  flashbook::add_softmax(app);
  flashbook::add_read(app);
  flashbook::add_check(app);
  flashbook::add_step(app);
  flashbook::add_attend(app);
  flashbook::add_list(app);
  flashbook::add_sim(app);
  flashbook::add_verify(app);
  flashbook::add_compare(app);
  flashbook::add_fuzz(app);
  flashbook::add_run(app);
  flashbook::add_demo(app);
  flashbook::add_draw(app);
  flashbook::add_ladder(app);
  flashbook::add_timeline(app);
  flashbook::add_timing(app);
  flashbook::add_bench(app);
  flashbook::add_receipts(app);
  try {
    app.parse(argc, argv);
    if (!app.get_subcommands().empty()) return checked(0);
    std::cerr << app.help();
    return bad_input;
  } catch (const CLI::RuntimeError& status) {
    return checked(status.get_exit_code());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return checked(app.exit(error));  // --help
    return complain(told(app, error));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Eigen::setNbThreads(1);  // heads and tiles are what we run in parallel
  try {
    return run(argc, argv);
  } catch (const flashbook::InputError& error) {
    return complain(error.what());
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory for this problem: use fewer tokens or heads");
  } catch (const std::exception& error) {
    return complain(std::string("unexpected error: ") + error.what());
  }
}
