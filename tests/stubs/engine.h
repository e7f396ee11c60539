// The simulated device of both fake drivers: contexts, streams, events, captures, memory and
// kernels. Error codes are CUDA's; HIP's have the same values where used here.
//
// One lock guards everything; Call holds it during a driver call.
#ifndef DLX_TESTS_STUBS_ENGINE_H_
#define DLX_TESTS_STUBS_ENGINE_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/stubs/fake.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace fake {

enum Code : int {
  kOk = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStub = 34,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinary = 209,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kPeerAlreadyEnabled = 704,
  kPeerNotEnabled = 705,
  kContextDestroyed = 709,
  kLaunchFailed = 719,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kUnknown = 999,
};

/// Ends the process: the driver would crash, or corrupt something. Never returns.
[[noreturn, gnu::format(printf, 1, 2)]] void die(const char* format, ...);

// ---- work ---------------------------------------------------------------------------------------

struct Stream;
struct Context;
struct Capture;
struct Pool;

/// A piece of device work, which runs after everything in `after`.
struct Work {
  Context* context = nullptr;
  bool on_legacy = false;      ///< of the legacy stream
  std::vector<uint64_t> uses;  ///< addresses
  std::vector<std::shared_ptr<Work>> after;
  std::function<int()> run;  ///< an error is the context's end; empty: only a point in the order
  bool blocked = false;      ///< not before fake_unblock()
  bool done = false;
  Capture* capture = nullptr;  ///< set: recorded for a graph, never done
};
using WorkPtr = std::shared_ptr<Work>;

// ---- objects behind handles -----------------------------------------------------------------------

/// Base class of the objects behind handles. The memory of a destroyed object is kept, so that a
/// stale handle is recognised.
struct Object {
  virtual ~Object() = default;
  bool alive = true;
};

struct Device {
  int ordinal = 0;
  size_t memory = size_t{8} << 30;
  size_t used = 0;
  Context* primary = nullptr;
  int retains = 0;
  Pool* default_pool = nullptr;
  std::map<int, int> attributes;
};

struct Context : Object {
  static constexpr const char* kKind = "context";
  Device* device = nullptr;
  bool primary = false;
  unsigned flags = 0;
  int sticky = 0;  ///< what ended it
  Stream* legacy = nullptr;
  std::map<std::thread::id, Stream*> per_thread;
  std::set<Context*> peers;  ///< whose memory its kernels may use
};

struct Stream : Object {
  static constexpr const char* kKind = "stream";
  Context* context = nullptr;
  bool implicit = false;  ///< legacy or per-thread: never destroyed by users
  bool blocking = true;   ///< ordered with the legacy stream
  WorkPtr last;
  Capture* capture = nullptr;
  WorkPtr captured;  ///< what was recorded last; `last` waits until the capture ends
};

struct Event : Object {
  static constexpr const char* kKind = "event";
  Context* context = nullptr;
  unsigned flags = 0;
  WorkPtr last;              ///< NULL: never recorded
  Stream* stream = nullptr;  ///< that it was recorded on last
};

/// A stream capture, and later the graph that it made.
struct Capture : Object {
  static constexpr const char* kKind = "graph";
  uint64_t id = 0;
  int mode = 0;
  Stream* origin = nullptr;
  std::thread::id thread;
  bool active = true;
  bool invalidated = false;
  std::vector<WorkPtr> nodes;
};

struct GraphExec : Object {
  static constexpr const char* kKind = "executable graph";
  std::vector<WorkPtr> nodes;
};

struct Module : Object {
  static constexpr const char* kKind = "module";
  Context* context = nullptr;
  std::string image;
};

struct Function : Object {
  static constexpr const char* kKind = "function";
  Module* module = nullptr;
  std::string name;
};

struct Pool : Object {
  static constexpr const char* kKind = "pool";
  Device* device = nullptr;
  bool standard = false;        ///< the device's own default pool
  int64_t keeps = 0;            ///< bytes that stay when a stream has been waited for
  std::set<Device*> accessors;  ///< other devices that were given access
};

enum class Memory { kDevice, kPool, kHost, kRegistered, kManaged };

struct Allocation {
  uint64_t start = 0;
  size_t size = 0;
  Memory kind = Memory::kDevice;
  Context* context = nullptr;
  Pool* pool = nullptr;
  unsigned host_flags = 0;  ///< as pinned memory was asked for
  bool live = true;         ///< work may use it
  bool freed = false;       ///< a free was called for
  bool gone = false;        ///< and carried out
};

// ---- the whole ------------------------------------------------------------------------------------

/// The state of a thread. The fake for CUDA uses the stack, the fake for HIP the device and the
/// error.
struct Thread {
  std::vector<Context*> stack;
  int capture_mode = 0;  ///< 0 global, 1 thread-local, 2 relaxed
  int device = 0;
  int last_error = 0;
  bool counts_waits = true;
};
Thread& this_thread();

enum class Schedule { kEager, kLatest, kRandom };

struct Engine {
  Engine();

  std::recursive_mutex lock;
  std::atomic<int64_t> forked_calls{0};  ///< made in a child of the process that initialised
  pid_t pid = 0;  ///< of the process that initialised the driver; 0: nobody did
  bool is_shut_down = false, is_stub = false;
  int version = 0;  ///< 0: the ABI layer's default
  std::string arch = "gfx90a";
  bool sliced = false;              ///< the devices are slices of GPUs (MIG)
  bool host_pools = false;          ///< pinned memory belongs to no device
  bool modes_need_context = false;  ///< capture modes are of threads with a current context

  Schedule schedule = Schedule::kEager;
  std::mt19937_64 random;
  std::list<WorkPtr> pending;  ///< in the order of submission
  int break_next = 0;
  std::set<Capture*> captures;  ///< active ones
  uint64_t next_id = 1;

  std::deque<Thread> threads;
  std::deque<Device> devices;
  std::deque<std::unique_ptr<Object>> objects;
  std::set<const void*> handles;  ///< addresses of `objects`
  std::map<uint64_t, Allocation> memory;
  size_t host_memory = size_t{8} << 30, host_used = 0;

  int64_t fail_in = 0, ignore_in = 0;
  int fail_code = 0;
  std::string fail_name, failed_call, ignored_wait;
  std::vector<std::string> log;
  int64_t wait_count = 0;
  const char* current_call = "";
  fake_report mistakes = {};  ///< only the counters of mistakes

  template <typename T>
  T* add() {
    auto object = std::make_unique<T>();
    T* result = object.get();
    objects.push_back(std::move(object));
    handles.insert(result);
    return result;
  }
  template <typename T>
  int64_t count() const {
    int64_t n = 0;
    for (const auto& object : objects)
      n += object->alive && dynamic_cast<T*>(object.get()) != nullptr;
    return n;
  }
};
Engine& engine();

/// The object behind a handle. Ends the process if the handle is invalid or its object was
/// destroyed.
template <typename T>
T* object(void* handle) {
  Engine& e = engine();
  if (e.handles.count(handle) == 0) die("%p is no %s", handle, T::kKind);
  T* result = dynamic_cast<T*>(static_cast<Object*>(handle));
  if (result == nullptr) die("%p is no %s", handle, T::kKind);
  if (!result->alive) {
    ++e.mistakes.double_frees;
    die("the %s %p was destroyed", T::kKind, handle);
  }
  return result;
}

// ---- calls ----------------------------------------------------------------------------------------

/// One driver call: takes the lock, logs the call, and says whether it must fail.
class Call {
 public:
  enum Needs { kNothing, kInitialized };
  Call(const char* name, Needs needs);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  int error() const { return error_; }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  const char* outer_ = "";
  int error_ = 0;
};

int initialize();
/// The calling thread's context, by the rules of the driver; NULL if there is none.
Context* current_context();
/// The driver's text for a code; NULL if unknown.
struct ErrorText {
  int code;
  const char* cuda;
  const char* hip;
  const char* text;
};
const ErrorText* error_text(int code);
/// For a call that a capture forbids: returns an error and invalidates the capture.
int unsafe_call();

// ---- contexts (engine.cc) -------------------------------------------------------------------------

Device* find_device(int ordinal);
Context* make_context(Device* device, bool primary);
void end_context(Context* context);
int retain_primary(Device* device, Context** out);
int release_primary(Device* device);

// ---- order (order.cc) -----------------------------------------------------------------------------

/// The stream behind a handle: 0 and 1 are the legacy stream of `current`, 2 its per-thread stream.
int find_stream(void* handle, Context* current, Stream** out);
/// Puts work on a stream; it is recorded if the stream is captured. `uses` are addresses of memory
/// that it reads or writes.
int submit(Stream* stream, std::function<int()> run, std::vector<uint64_t> uses = {});
/// Adds a point to a stream, which also depends on `before` unless that is NULL.
int submit_point(Stream* stream, const WorkPtr& before, WorkPtr* out = nullptr);
/// Waits for the legacy stream's work on that memory, as a driver's free does.
int wait_before_free(uint64_t start, size_t size);
/// Adds work that does not end before fake_unblock().
int submit_blocked(Stream* stream);
/// Lets the device do what the schedule allows.
void progress();
/// Makes the host wait. Returns kLaunchTimeout if it would wait forever.
int host_wait(const std::vector<WorkPtr>& targets);
/// Whether to leave out the next wait (fake_ignore_nth_wait).
bool wait_is_ignored();

int stream_create(Context* context, bool blocking, Stream** out);
int stream_destroy(Stream* stream);
int stream_synchronize(Stream* stream);
int stream_query(Stream* stream);
int stream_wait(Stream* stream, Event* event);
int event_record(Event* event, Stream* stream);
int event_synchronize(Event* event);
int event_query(Event* event);
int context_synchronize(Context* context);

// ---- captures (capture.cc) ------------------------------------------------------------------------

/// Invalidates a capture; returns `code`.
int invalidate(Capture* capture, int code);
int capture_begin(Stream* stream, int mode);
int capture_end(Stream* stream, Capture** out);
/// `status`: 0 none, 1 active, 2 invalidated.
int capture_info(Stream* stream, int* status, uint64_t* id);
int graph_launch(GraphExec* graph, Stream* stream);

// ---- memory (memory.cc) ---------------------------------------------------------------------------

int allocate(Context* context, Memory kind, size_t size, uint64_t* out);
/// `host`: for pinned memory. Unknown and freed addresses return kInvalidValue, and are counted.
int release(uint64_t address, bool host);
/// Makes the addresses of freed memory available again.
void reuse_addresses();
int pool_create(Device* device, Pool** out);
Pool* default_pool(Device* device);
int pool_destroy(Pool* pool);
int allocate_async(Pool* pool, Stream* stream, size_t size, uint64_t* out);
int release_async(Stream* stream, uint64_t address);
int register_host(Context* context, void* address, size_t size);
int unregister_host(void* address);
/// The allocation that contains an address, freed or not; NULL for other memory.
Allocation* find_memory(uint64_t address);
bool is_device_only(const Allocation* allocation);
/// Submits a copy to a stream, between any kinds of memory.
int copy(Stream* stream, uint64_t dst, uint64_t src, size_t size);
int fill(Stream* stream, uint64_t dst, unsigned value, size_t width, size_t count);

/// Gives the fake access to device memory until the end of the scope.
class Reach {
 public:
  Reach(uint64_t address, size_t size);
  ~Reach();
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;
  char* data() const { return data_; }
  int error() const { return error_; }
  const Allocation* allocation() const { return allocation_; }

 private:
  char* data_ = nullptr;
  int error_ = 0;
  Allocation* allocation_ = nullptr;
};
/// Makes managed memory of a device without concurrent access inaccessible to the CPU while work is
/// pending.
void close_managed(Device* device);
void open_managed(Device* device);
constexpr int kConcurrentManaged = 89;  ///< CUDA's number of the attribute

// ---- kernels (kernels.cc) -------------------------------------------------------------------------

int module_load(Context* context, const void* image, Module** out);
int module_unload(Module* module);
int module_function(Module* module, const char* name, Function** out);
int launch(Function* function, Context* current, Stream* stream, const unsigned* groups,
           const unsigned* group_size, void** parameters, void** extra);

}  // namespace fake

#endif  // DLX_TESTS_STUBS_ENGINE_H_
