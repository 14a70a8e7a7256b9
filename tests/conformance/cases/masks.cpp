#include "tests/conformance/cases/builder.hpp"

namespace flashbook::conformance {
namespace {

/// Distances of the diagonal from the corner, both ways, around the sizes of tiles.
constexpr Index offsets[] = {1, 15, 16, 17, 63, 64, 65};

void add_alignments(Builder& builder) {
  for (const Index offset : offsets)
    for (const bool more_keys : {true, false})
      for (const char* align : {"bottom-right", "top-left"}) {
        const Index n = 66, n_q = more_keys ? n : n + offset, n_k = more_keys ? n + offset : n;
        builder.add_point("align", {align + std::string(more_keys ? "+" : "-") + text(offset),
                                    "d=16 causal align=" + std::string(align) + " nq=" + text(n_q) +
                                        " nk=" + text(n_k)});
      }
}

/// Each side of a window, at the sizes of tiles, with rows enough for it to scroll.
void add_window_sides(Builder& builder) {
  for (const Index side : {1, 15, 16, 17, 63, 64, 65}) {
    const std::string s = text(side), twice = text(2 * side);
    const Named forms[] = {{"left", s + ",0"},
                           {"right", "0," + s},
                           {"both", (s + ',').append(s)},
                           {"left-unbounded-right", s + ",inf"},
                           {"right-only", "inf," + s},
                           {"behind", (twice + ",-").append(s)},
                           {"ahead", ('-' + s + ',').append(twice)}};
    for (const Named& form : forms)
      builder.add_point("window",
                        {(form.name + '-').append(s), "d=16 nq=100 nk=130 window=" + form.words});
  }
}

}  // namespace

/// Which keys a row sees.
void add_masks(Builder& builder) {
  // The alignment flips where one length exceeds the other; rows before the first key are empty.
  add_alignments(builder);
  // One key more or less than the window's length; the mask decided for whole tiles.
  add_window_sides(builder);
  const Named windows[] = {
      // "No window" taken for any window whose sides sum to less than 0, or for a side below 0.
      {"empty", "nq=70 nk=70 window=7,-8"},
      {"empty-ahead", "nq=70 nk=70 window=-9,8"},
      {"empty-just", "nq=70 nk=70 window=0,-1"},
      {"beyond-the-keys", "nq=70 nk=30 window=-40,60"},
      // Windows are counted from the diagonal of the problem, not from the row's own number.
      {"top-left", "nq=60 nk=90 window=5,3 align=top-left"},
      {"long-queries", "nq=90 nk=60 window=5,3"},
      {"members", "hq=2 nq=90 nk=110 window=5,3 cu_q=0,17,17,81 cu_k=0,40,56,100"},
      {"grouped", "hq=4 hkv=2 nq=40 nk=70 window=17,0"},
      {"decode", "nq=1 nk=130 window=64,0"},
      // A window beside a causal mask cuts its right side.
      {"causal", "nq=70 nk=100 causal window=16,9"},
      {"one-key-each", "nq=70 window=0,0"},
  };
  for (const Named& window : windows)
    builder.add("window", {window.name, "d=16 " + window.words}, gated);
  // Three spellings of one mask take different paths.
  for (const Index n : {16, 50, 65}) {
    const std::string sizes = "d=32 nq=" + text(n) + " nk=" + text(n);
    builder.add_point("window", {"causal-spelled-inf-" + text(n), sizes + " window=inf,0"});
    builder.add_point("window",
                      {"causal-spelled-wide-" + text(n), sizes + " window=" + text(n - 1) + ",0"});
  }
}

}  // namespace flashbook::conformance
