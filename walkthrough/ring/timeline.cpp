#include "walkthrough/ring/timeline.hpp"

#include <algorithm>
#include <set>

#include "walkthrough/ring/stages.hpp"

namespace flashbook::ring {
namespace {

using simt::Event;
using Kind = Moment::Kind;
using State = Content::State;

/// Goes through the events and tells what they mean.
class Player {
 public:
  Player(const std::vector<Event>& events, const TensorNames& tensors, const Actors& actors)
      : events_(events), places_(events, tensors), actors_(actors), held_(places_.all().size()) {
    for (const Event& event : events) {
      multiplies_ = multiplies_ || event.kind == Event::Kind::multiply;
      if (event.kind != Event::Kind::wait) continue;
      unsigned& speaker = speaker_.try_emplace(actor_of(event), event.thread).first->second;
      speaker = std::min(speaker, event.thread);
    }
  }

  Timeline play() {
    for (std::size_t i = 0; i < events_.size(); ++i) play(events_[i], i);
    for (const Place& place : places_.all())
      if (place.is_stage()) timeline_.stages.push_back(place.name);
    for (unsigned actor = 0; actor < actor_count_; ++actor)
      timeline_.actors.push_back(actors_.name + " " + std::to_string(actor));
    return std::move(timeline_);
  }

 private:
  struct Held {
    Content content;
    std::set<int> users;
  };

  void play(const Event& event, std::size_t i) {
    if (event.site) actor_count_ = std::max(actor_count_, event.thread / actors_.threads + 1);
    const int actor = actor_of(event);
    switch (event.kind) {
      case Event::Kind::wait:
        return wait(event, actor, i);
      case Event::Kind::pass:
        return pass(event, actor);
      case Event::Kind::arrive:
        return arrive(event, actor);
      case Event::Kind::complete:
        return complete(event);
      case Event::Kind::load:
        return load(event, actor);
      case Event::Kind::multiply:
        return use(places_.at(event.at), actor, "multiplies ");
      case Event::Kind::product:
        return finish(places_.at(event.at), actor);
      case Event::Kind::registers:
        return add(Kind::registers, actor, std::to_string(event.registers) + " registers");
      case Event::Kind::land:
        return;  // what its mbarrier makes of it is told
    }
  }

  /// Whether this thread speaks for its group's waits.
  bool speaks(const Event& event) const { return speaker_.at(actor_of(event)) == event.thread; }
  int actor_of(const Event& event) const {
    return static_cast<int>(event.thread / actors_.threads);
  }

  void wait(const Event& event, int actor, std::size_t i) {
    if (!speaks(event)) return;
    const bool goes_on = i + 1 < events_.size() && events_[i + 1].kind == Event::Kind::pass &&
                         events_[i + 1].thread == event.thread;
    if (goes_on) return;  // nothing happened in between
    if (const int place = places_.filled(event.mbarrier); place >= 0)
      add(Kind::waits, actor, "waits: " + name(place) + " full");
    else if (const int other = places_.emptied(event.mbarrier); other >= 0)
      add(Kind::waits, actor, "waits: " + name(other) + " empty");
    else
      add(Kind::waits, actor, "waits: at " + std::to_string(event.mbarrier));
  }

  /// Without wgmma a stage is used from here on.
  void pass(const Event& event, int actor) {
    const int place = places_.filled(event.mbarrier);
    if (speaks(event) && place >= 0 && !multiplies_) use(place, actor, "reads ");
  }

  void arrive(const Event& event, int actor) {
    const int place = places_.emptied(event.mbarrier);
    if (place < 0) return;
    held(place).users.erase(actor);
    add(Kind::gives_back, actor, "gives back " + name(place));
  }

  void complete(const Event& event) {
    if (const int place = places_.filled(event.mbarrier); place >= 0) {
      held(place).content.state = State::full;
      add(Kind::is_full, -1, name(place) + " full");
    } else if (const int other = places_.emptied(event.mbarrier); other >= 0) {
      held(other).content.state = State::empty;
      timeline_.moments.back().stages = contents();  // of the arrival that completed it
    }
  }

  void load(const Event& event, int actor) {
    const int place = places_.filled(event.mbarrier);
    Content& content = held(place).content;
    if (content.state == State::filling) return;  // another box
    content = {State::filling, next_tile_[event.tensor]++};
    add(Kind::fills, actor, "fills " + name(place));
  }

  void use(int place, int actor, const char* verb) {
    if (place < 0 || !held(place).users.insert(actor).second) return;
    add(Kind::uses, actor, verb + name(place));
  }

  /// Told apart only where no arrival tells it.
  void finish(int place, int actor) {
    if (place < 0 || held(place).users.erase(actor) == 0) return;
    if (!places_.all()[static_cast<std::size_t>(place)].empty)
      add(Kind::done, actor, "is done with " + name(place));
  }

  void add(Kind kind, int actor, const std::string& what) {
    std::string& last = last_[actor];
    if (last == what && actor >= 0) return;  // of each warp, say
    last = what;
    timeline_.moments.push_back({kind, actor, what, contents()});
  }

  std::vector<Content> contents() const {
    std::vector<Content> out;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (!places_.all()[i].is_stage()) continue;
      Content content = held_[i].content;
      if (content.state == State::full && !held_[i].users.empty()) content.state = State::used;
      out.push_back(content);
    }
    return out;
  }

  Held& held(int place) { return held_[static_cast<std::size_t>(place)]; }
  const std::string& name(int place) const {
    return places_.all()[static_cast<std::size_t>(place)].name;
  }

  const std::vector<Event>& events_;
  const Places places_;
  const Actors& actors_;
  bool multiplies_ = false;
  unsigned actor_count_ = 0;
  std::map<int, unsigned> speaker_;
  std::map<int, std::string> last_;
  std::map<const void*, int> next_tile_;
  std::vector<Held> held_;
  Timeline timeline_;
};

}  // namespace

Timeline timeline_of(const std::vector<Event>& events, const TensorNames& tensors,
                     const Actors& actors) {
  return Player(events, tensors, actors).play();
}

}  // namespace flashbook::ring
