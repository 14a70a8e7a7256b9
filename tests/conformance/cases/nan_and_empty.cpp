#include "tests/conformance/cases/builder.hpp"

namespace flashbook::conformance {
namespace {

/// One NaN or Inf: it reaches the rows that see it and no other.
void add_planted(Builder& builder) {
  const Named masks[] = {{"dense", ""},
                         {"causal", "causal"},
                         {"window", "window=4,2"},
                         {"top-left", "causal align=top-left"},
                         {"packed", "cu_q=0,30,61 cu_k=0,41,80 hq=2 hkv=1"},
                         // Behind it: a tile that ends with the last member's keys.
                         {"packed-before", "cu_q=0,30,50,70 cu_k=0,41,70,90 hq=2 hkv=1"}};
  for (const char* plant :
       {"nan-q", "nan-k", "nan-v", "nan-do", "nan-bias", "inf-k", "inf-v", "inf-k-nan-v"})
    for (const Named& mask : masks) {
      const std::string bias = std::string_view(plant) == "nan-bias" ? " bias=1,h,q,k" : "";
      builder.add("nan",
                  {plant + ('-' + mask.name),
                   merged("hq=2 nq=70 nk=90 d=16 plant=" + std::string(plant) + bias, mask.words)},
                  gated);
    }
}

/// NaN seen through a weight that is 0 in 16 bits: a pair that is seen reaches its row whatever it
/// weighs.
void add_sharp_nan(Builder& builder) {
  for (const char* plant : {"nan-v", "nan-do"})
    for (const Named& mask : {Named{"", ""}, {"-causal", "causal"}})
      builder.add(
          "nan",
          {plant + std::string("-sharp") + mask.name,
           "hq=2 nq=70 nk=70 d=32 data=sharp plant=" + std::string(plant) + ' ' + mask.words},
          gated);
}

}  // namespace

/// NaN and Inf that some pair sees.
void add_nan(Builder& builder) {
  add_planted(builder);
  add_sharp_nan(builder);
}

/// Rows that see nothing. Their Q and dO hold NaN.
void add_empty_rows(Builder& builder) {
  const Named rows[] = {
      {"bottom-right", "causal nq=83 nk=40"},
      {"far-below", "causal nq=150 nk=3"},
      {"window", "window=7,-8 nq=30 nk=30"},
      {"window-behind", "window=-70,inf nq=80 nk=80"},
      {"bias", "bias=1,1,q,k biasdata=hidden nq=33 nk=40"},
      {"members", "causal cu_q=0,76,110,256 cu_k=0,1,2,3 nq=256 nk=3"},
      {"slack", "cu_q=0,20 cu_k=0,30 nq=52 nk=62"},
      {"no-keys", "nq=9 nk=0"},
      // Half of the rows have a score of −∞ for their only key, whose V is NaN.
      {"by-arithmetic", "nq=70 nk=1 plant=inf-k-nan-v"},
  };
  for (const Named& row : rows) {
    builder.add("empty", {row.name, "d=16 hq=2 " + row.words}, gated);
    builder.add("empty", {row.name + "-sinks-dlse", "d=16 hq=2 sinks dlse " + row.words}, gated);
  }
}

}  // namespace flashbook::conformance
