#include "walkthrough/ring/stages.hpp"

#include <algorithm>
#include <map>

namespace flashbook::ring {
namespace {

using simt::Event;

template <class Is>
int find(const std::vector<Place>& places, const Is& is) {
  const auto found = std::find_if(places.begin(), places.end(), is);
  return found == places.end() ? -1 : static_cast<int>(found - places.begin());
}

}  // namespace

Places::Places(const std::vector<Event>& events, const TensorNames& tensors) {
  std::map<unsigned, std::uint32_t> waited;  // the last mbarrier, by thread
  for (const Event& event : events) {
    if (event.kind == Event::Kind::wait) waited[event.thread] = event.mbarrier;
    if (event.kind != Event::Kind::load) continue;
    add(event);
    Place& place = all_[static_cast<std::size_t>(filled(event.mbarrier))];
    const auto before = waited.find(event.thread);
    if (before != waited.end() && filled(before->second) < 0) place.empty = before->second;
    waited.erase(event.thread);
  }
  name(tensors);
}

/// A box is a part of the place whose mbarrier it tells.
void Places::add(const Event& load) {
  const int known = filled(load.mbarrier);
  if (known < 0) return all_.push_back({{}, load.tensor, load.at, load.mbarrier, {}});
  Place& place = all_[static_cast<std::size_t>(known)];
  if (load.at == place.at) place.is_filled_again = true;
  place.at = std::min(place.at, load.at);
}

void Places::name(const TensorNames& tensors) {
  std::map<const void*, int> order, count, number;
  for (const Place& place : all_) {
    order.try_emplace(place.tensor, static_cast<int>(order.size()));
    ++count[place.tensor];
  }
  std::sort(all_.begin(), all_.end(), [&](const Place& a, const Place& b) {
    return std::pair(order[a.tensor], a.at) < std::pair(order[b.tensor], b.at);
  });
  for (Place& place : all_) {
    const auto known = tensors.find(place.tensor);
    place.name = known == tensors.end() ? "T" : known->second;
    if (count[place.tensor] > 1) place.name += std::to_string(number[place.tensor]++);
  }
}

int Places::filled(std::uint32_t mbarrier) const {
  return find(all_, [&](const Place& place) { return place.full == mbarrier; });
}

int Places::emptied(std::uint32_t mbarrier) const {
  return find(all_, [&](const Place& place) { return place.empty == mbarrier; });
}

int Places::at(std::uint32_t byte) const {
  return find(all_, [&](const Place& place) { return place.at == byte; });
}

}  // namespace flashbook::ring
