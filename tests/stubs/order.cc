// The order of work: streams, events and the schedules.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tests/stubs/engine.h"

namespace fake {
namespace {

bool is_ready(const Work& work) {
  return !work.blocked && std::all_of(work.after.begin(), work.after.end(),
                                      [](const WorkPtr& w) { return w->done; });
}

/// Does one piece of work, whose dependencies are all done.
void execute(const WorkPtr& work) {
  Context* context = work->context;
  int error = kOk;
  // A lost context does no more work.
  if (context->sticky == kOk && work->run) {
    std::swap(error, engine().break_next);
    if (error == kOk) error = work->run();
    context->sticky = error;
  }
  work->done = true;
  work->after.clear();
  work->run = nullptr;
}

/// Does work that is ready, chosen at random; false if there is none.
bool execute_any() {
  Engine& e = engine();
  std::vector<std::list<WorkPtr>::iterator> ready;
  for (auto it = e.pending.begin(); it != e.pending.end(); ++it) {
    if (is_ready(**it)) ready.push_back(it);
  }
  if (ready.empty()) return false;
  const auto chosen = ready[e.random() % ready.size()];
  const WorkPtr work = std::move(*chosen);
  e.pending.erase(chosen);
  execute(work);
  return true;
}

void execute_ready_in_order() {
  auto& pending = engine().pending;
  for (auto it = pending.begin(); it != pending.end();) {
    if (!is_ready(**it)) {
      ++it;
      continue;
    }
    const WorkPtr work = *it;
    it = pending.erase(it);
    execute(work);
  }
}

/// `targets` and all their dependencies that are not done.
std::unordered_set<const Work*> needed_for(const std::vector<WorkPtr>& targets) {
  std::unordered_set<const Work*> result;
  std::vector<const Work*> open;
  const auto add = [&](const WorkPtr& work) {
    if (work != nullptr && !work->done && result.insert(work.get()).second)
      open.push_back(work.get());
  };
  for (const WorkPtr& target : targets) add(target);
  while (!open.empty()) {
    const Work* work = open.back();
    open.pop_back();
    for (const WorkPtr& before : work->after) add(before);
  }
  return result;
}

/// The dependencies of a stream's next work.
std::vector<WorkPtr> order_of(Stream* stream) {
  std::vector<WorkPtr> after;
  const auto add = [&](const WorkPtr& work) {
    if (work != nullptr && !work->done) after.push_back(work);
  };
  add(stream->last);
  Context* context = stream->context;
  if (stream == context->legacy) {
    for (const auto& object : engine().objects) {
      auto* other = dynamic_cast<Stream*>(object.get());
      // The work of a destroyed stream still completes.
      if (other != nullptr && other->context == context && other->blocking && other != stream &&
          other->capture == nullptr) {
        add(other->last);
      }
    }
  } else if (stream->blocking) {
    add(context->legacy->last);
  }
  return after;
}

}  // namespace

void progress() {
  Engine& e = engine();
  switch (e.schedule) {
    case Schedule::kEager: execute_ready_in_order(); break;
    case Schedule::kLatest: break;
    case Schedule::kRandom:
      for (uint64_t n = e.random() % 3; n > 0 && execute_any(); --n) {
      }
  }
}

bool wait_is_ignored() {
  Engine& e = engine();
  if (!this_thread().counts_waits) return false;
  ++e.wait_count;
  if (e.ignore_in == 0) return false;
  if (--e.ignore_in != 0) return false;
  e.ignored_wait = e.current_call;
  return true;
}

int host_wait(const std::vector<WorkPtr>& targets) {
  Engine& e = engine();
  const auto needed = needed_for(targets);
  for (const Work* work : needed) {
    if (work->blocked) {
      ++e.mistakes.waited_for_blocked;
      return kLaunchTimeout;
    }
  }
  const auto all_done = [&] {
    return std::all_of(targets.begin(), targets.end(),
                       [](const WorkPtr& work) { return work == nullptr || work->done; });
  };
  if (e.schedule == Schedule::kRandom) {
    while (!all_done()) {
      if (!execute_any()) die("work waits for itself");
    }
    return kOk;
  }
  // In submission order, all dependencies of a piece of work come before it.
  for (auto it = e.pending.begin(); it != e.pending.end() && !all_done();) {
    if (needed.count(it->get()) == 0) {
      ++it;
      continue;
    }
    const WorkPtr work = *it;
    it = e.pending.erase(it);
    execute(work);
  }
  return kOk;
}

int find_stream(void* handle, Context* current, Stream** out) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number > 2) {
    *out = object<Stream>(handle);
    if (!(*out)->context->alive) return kContextDestroyed;
  } else if (current == nullptr) {
    return kInvalidContext;
  } else if (number < 2) {
    *out = current->legacy;
  } else {
    Stream*& stream = current->per_thread[std::this_thread::get_id()];
    if (stream == nullptr) {
      stream = engine().add<Stream>();
      stream->context = current;
      stream->implicit = true;
    }
    *out = stream;
  }
  return (*out)->context->sticky;
}

namespace {

int record(Stream* stream, const WorkPtr& work, const WorkPtr& also_after) {
  Capture* capture = stream->capture;
  if (capture->invalidated) return kCaptureInvalidated;
  work->capture = capture;
  if (stream->captured != nullptr) work->after.push_back(stream->captured);
  if (also_after != nullptr) work->after.push_back(also_after);
  capture->nodes.push_back(work);
  stream->captured = work;
  return kOk;
}

/// Whether work of the legacy stream would depend on a blocking stream that is captured.
int check_legacy(const Context* context) {
  int error = kOk;
  for (const auto& object : engine().objects) {
    auto* other = dynamic_cast<Stream*>(object.get());
    if (other != nullptr && other->capture != nullptr && other->blocking &&
        other->context == context) {
      error = invalidate(other->capture, kCaptureImplicit);
    }
  }
  return error;
}

int add(Stream* stream, const WorkPtr& work, const WorkPtr& also_after) {
  work->context = stream->context;
  work->on_legacy = stream == stream->context->legacy;
  if (stream->capture != nullptr) return record(stream, work, also_after);
  if (stream == stream->context->legacy) {
    if (const int error = check_legacy(stream->context); error != kOk) return error;
  }
  work->after = order_of(stream);
  if (also_after != nullptr && !also_after->done) work->after.push_back(also_after);
  if (work->run) close_managed(stream->context->device);
  engine().pending.push_back(work);
  stream->last = work;
  progress();
  return kOk;
}

}  // namespace

int submit(Stream* stream, std::function<int()> run, std::vector<uint64_t> uses) {
  auto work = std::make_shared<Work>();
  work->run = std::move(run);
  work->uses = std::move(uses);
  return add(stream, work, nullptr);
}

int submit_point(Stream* stream, const WorkPtr& before, WorkPtr* out) {
  auto work = std::make_shared<Work>();
  if (out != nullptr) *out = work;
  return add(stream, work, before);
}

int wait_before_free(uint64_t start, size_t size) {
  std::vector<WorkPtr> targets;
  for (const WorkPtr& work : engine().pending) {
    const bool uses = std::any_of(work->uses.begin(), work->uses.end(),
                                  [&](uint64_t address) { return address - start < size; });
    if (work->on_legacy && uses) targets.push_back(work);
  }
  return host_wait(targets);
}

int submit_blocked(Stream* stream) {
  auto work = std::make_shared<Work>();
  work->blocked = true;
  return add(stream, work, nullptr);
}

// ---- streams --------------------------------------------------------------------------------------

int stream_create(Context* context, bool blocking, Stream** out) {
  *out = engine().add<Stream>();
  (*out)->context = context;
  (*out)->blocking = blocking;
  return kOk;
}

int stream_destroy(Stream* stream) {
  if (stream->implicit) return kInvalidHandle;
  if (stream->capture != nullptr) invalidate(stream->capture, kOk);
  stream->alive = false;  // its work is still done
  return kOk;
}

int stream_synchronize(Stream* stream) {
  if (stream->capture != nullptr) return invalidate(stream->capture, kCaptureUnsupported);
  if (stream == stream->context->legacy) {
    // It waits for all blocking streams: add a point after all of them.
    if (wait_is_ignored()) return kOk;
    if (const int error = submit_point(stream, nullptr); error != kOk) return error;
  } else if (wait_is_ignored()) {
    return kOk;
  }
  if (const int error = host_wait({stream->last}); error != kOk) return error;
  open_managed(stream->context->device);
  return stream->context->sticky;
}

int stream_query(Stream* stream) {
  if (stream->capture != nullptr) return invalidate(stream->capture, kCaptureUnsupported);
  if (stream == stream->context->legacy) {
    if (const int error = check_legacy(stream->context); error != kOk) return error;
  }
  for (const WorkPtr& work : order_of(stream)) {
    if (!work->done) return kNotReady;
  }
  return kOk;
}

int stream_wait(Stream* stream, Event* event) {
  const WorkPtr before = event->last;
  Capture* other = before == nullptr ? nullptr : before->capture;
  if (other != nullptr && !other->active) other = nullptr;
  if (before != nullptr && before->capture != nullptr && other == nullptr) return kCapturedEvent;
  if (stream->capture != nullptr && other == nullptr) {
    // Work outside the capture; an event that was never recorded is no dependency.
    if (before == nullptr) return kOk;
    return invalidate(stream->capture, kCaptureIsolation);
  }
  if (stream->capture != nullptr && other != stream->capture) {
    invalidate(other, kOk);
    return invalidate(stream->capture, kCaptureMerge);
  }
  if (wait_is_ignored()) return kOk;
  if (other != nullptr && stream->capture == nullptr) {
    if (stream == stream->context->legacy) return invalidate(other, kCaptureImplicit);
    stream->capture = other;  // the capture spreads to this stream
  }
  if (before == nullptr) return kOk;
  return submit_point(stream, before);
}

// ---- events ---------------------------------------------------------------------------------------

int event_record(Event* event, Stream* stream) {
  if (event->context != stream->context) return kInvalidHandle;
  WorkPtr point;
  if (const int error = submit_point(stream, nullptr, &point); error != kOk) return error;
  event->last = point;
  event->stream = stream;
  return kOk;
}

namespace {

/// The host cannot query an event that was recorded in a capture.
int check_not_captured(const Event* event) {
  if (event->last == nullptr || event->last->capture == nullptr) return kOk;
  if (event->last->capture->active) return invalidate(event->last->capture, kCapturedEvent);
  return kCapturedEvent;
}

}  // namespace

int event_synchronize(Event* event) {
  if (const int error = check_not_captured(event); error != kOk) return error;
  if (wait_is_ignored()) return kOk;
  if (const int error = host_wait({event->last}); error != kOk) return error;
  open_managed(event->context->device);
  return event->context->sticky;
}

int event_query(Event* event) {
  if (const int error = check_not_captured(event); error != kOk) return error;
  if (event->last != nullptr && !event->last->done) return kNotReady;
  return event->context->sticky;
}

int context_synchronize(Context* context) {
  Engine& e = engine();
  if (wait_is_ignored()) return kOk;
  std::vector<WorkPtr> targets;
  for (const WorkPtr& work : e.pending) {
    if (work->context == context) targets.push_back(work);
  }
  if (const int error = host_wait(targets); error != kOk) return error;
  open_managed(context->device);
  return context->sticky;
}

}  // namespace fake
