// A header for tests of kernels: cases, inputs, poisoned outputs, a float64 comparison, chosen
// contents of shared memory, and a report as JSON Lines. C++17, nothing else to install.
//
// It is compiled by nvcc or by the host's compiler. README.md beside it shows a whole test and
// says what the report looks like and which variables and options a test listens to.
//
//   int main(int argc, char** argv) {
//     kt::Report report(argc, argv);
//     for (int axis : {64, 512}) {
//       const kt::Case c = kt::Case().with("axis", axis);
//       if (!report.begin(c)) continue;
//       ... allocate kt::Array, fill them from kt::Random, work out what is right in double ...
//       report.judge("rel_err", 1e-2, y, launch, error);
//     }
//     return report.exit_code();
//   }
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define KT_BOTH __host__ __device__
#else
#define KT_BOTH
#endif
#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace kt {

// What stands for an error that is not a number (an output that is NaN or was never written):
// JSON has no NaN, and no `max` lets this pass.
constexpr double no_figure = 1e30;

[[noreturn]] inline void stop(const std::string& why) {
  std::fprintf(stderr, "kernel test: %s\n", why.c_str());
  std::exit(2);
}

// ---- Cases ----

inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    char escape[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The parameters of a case, in the order in which they are given.
class Case {
 public:
  Case& with(const char* name, long long value) { return add(name, std::to_string(value)); }
  Case& with(const char* name, int value) { return add(name, std::to_string(value)); }
  Case& with(const char* name, const char* value) { return add(name, quoted(value)); }

  std::string json() const { return "{" + text_ + "}"; }

 private:
  Case& add(const char* name, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return *this;
  }
  std::string text_;
};

// Brings JSON into one form, so that a case is recognised however somebody else wrote it down:
// members sorted, no spaces, numbers by value. `at` is moved past the value.
inline std::string canonical(const char*& at) {
  const auto space = [&] {
    while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n') ++at;
  };
  const auto text = [&] {
    std::string s;
    if (*at == '"') s += *at++;
    while (*at && *at != '"') {
      if (*at == '\\' && at[1]) s += *at++;
      s += *at++;
    }
    if (*at == '"') s += *at++;
    return s;
  };
  space();
  if (*at == '"') return text();
  if (*at == '{' || *at == '[') {
    const char open = *at++, close = open == '{' ? '}' : ']';
    std::vector<std::string> parts;
    for (space(); *at && *at != close; space()) {
      std::string part;
      if (open == '{') {
        part = text() + ":";
        space();
        if (*at == ':') ++at;
      }
      const char* before = at;
      part += canonical(at);
      if (at == before) stop(std::string("not JSON, from here on: ") + at);
      space();
      if (*at == ',') ++at;
      parts.push_back(part);
    }
    if (*at == close) ++at;
    if (open == '{')
      for (std::size_t i = 1; i < parts.size(); ++i)
        for (std::size_t j = i; j > 0 && parts[j] < parts[j - 1]; --j) parts[j].swap(parts[j - 1]);
    std::string out(1, open);
    for (const std::string& part : parts) out += (out.size() > 1 ? "," : "") + part;
    return out + close;
  }
  char* end;
  const double number = std::strtod(at, &end);
  std::string word;
  if (end != at) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", number);
    word = digits;
    at = end;
  } else {
    while (*at >= 'a' && *at <= 'z') word += *at++;
  }
  return word;
}

inline std::string canonical(const std::string& json) {
  const char* at = json.c_str();
  return canonical(at);
}

// ---- Device memory ----

#if defined(__CUDACC__)

// Waits for the device. An error here cannot be recovered from in this process, so it ends as a
// crash does: the case that was announced has failed, and a fresh process can run the rest.
inline void finish() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "kernel test: %s\n", cudaGetErrorString(error));
  std::abort();
}

inline char* allocate(std::size_t bytes) {
  void* memory;
  if (cudaMalloc(&memory, bytes) != cudaSuccess) stop("no device memory");
  return static_cast<char*>(memory);
}
inline void release(char* memory) { cudaFree(memory); }
inline void upload(char* device, const char* host, std::size_t bytes) {
  cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
}
inline void download(char* host, const char* device, std::size_t bytes) {
  finish();
  cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
}

static __global__ void fill_shared_kernel(std::uint32_t word, unsigned words) {
  extern __shared__ std::uint32_t fill_shared_words[];
  volatile std::uint32_t* to = fill_shared_words;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) to[i] = word;
}

// Writes `word` into all shared memory of every multiprocessor: one block fills one of them, and
// there are more blocks than multiprocessors.
inline void fill_shared(std::uint32_t word) {
  int device, multiprocessors, bytes;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  cudaFuncSetAttribute(fill_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  fill_shared_kernel<<<4 * multiprocessors, 1024, bytes>>>(word, unsigned(bytes) / 4);
  finish();
}

#else

inline void finish() {}
inline char* allocate(std::size_t bytes) { return static_cast<char*>(std::malloc(bytes)); }
inline void release(char* memory) { std::free(memory); }
inline void upload(char* device, const char* host, std::size_t bytes) {
  std::memcpy(device, host, bytes);
}
inline void download(char* host, const char* device, std::size_t bytes) {
  std::memcpy(host, device, bytes);
}

// Without a device the library under test knows what its shared memory is. A test whose library
// has such a thing says so: kt::fill_shared_hook() = the_function;
using FillShared = void (*)(std::uint32_t);
inline FillShared& fill_shared_hook() {
  static FillShared hook = nullptr;
  return hook;
}
inline void fill_shared(std::uint32_t word) {
  if (fill_shared_hook()) fill_shared_hook()(word);
}

#endif

enum class Type { f32, f16, bf16, i32 };

inline const char* name_of(Type type) {
  switch (type) {
    case Type::f32: return "f32";
    case Type::f16: return "f16";
    case Type::bf16: return "bf16";
    case Type::i32: return "i32";
  }
  return "?";
}

// Bits of the 16-bit types, from and to float. Independent of what the library under test does.
inline std::uint16_t bf16_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (value != value) return 0x7fff;
  return std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline std::uint16_t f16_bits(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float size = std::fabs(value);
  if (value != value) return 0x7fff;
  if (size >= 65520.0f) return sign | 0x7c00;
  int exponent = -14;  // of the smallest normal numbers, and of what is below them
  if (size >= 0x1p-14f) std::frexp(size, &exponent), --exponent;
  // In units of the last place; nearbyint takes the even one of two equally near numbers.
  const float units = std::nearbyint(std::ldexp(size, 10 - exponent));
  return std::uint16_t(sign + ((exponent + 14) << 10) + int(units));
}

KT_BOTH inline float bf16_value(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

KT_BOTH inline float f16_value(std::uint16_t bits) {
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(float(fraction), -24);
  return sign * std::ldexp(float(fraction + 1024), exponent - 25);
}

// An element of memory of some type, here or on the device: for references in float64.
KT_BOTH inline double value_at(Type type, const void* memory, std::size_t i) {
  switch (type) {
    case Type::f32: return static_cast<const float*>(memory)[i];
    case Type::f16: return f16_value(static_cast<const std::uint16_t*>(memory)[i]);
    case Type::bf16: return bf16_value(static_cast<const std::uint16_t*>(memory)[i]);
    case Type::i32: return static_cast<const std::int32_t*>(memory)[i];
  }
  return NAN;
}

// An array of one type in device memory, with a guard on both sides, and a copy of it here. New
// ones are poisoned: every byte is 0xff, which is NaN in all floating types and -1 in integers.
//
// data() gives the device's memory, after what was set here went there; reading an element
// brings back what kernels wrote since. A launch must take its pointers from data() each time.
class Array {
 public:
  Array(Type type, std::size_t size)
      : type_(type),
        size_(size),
        width_(type == Type::f32 || type == Type::i32 ? 4 : 2),
        host_(bytes() + 2 * guard),
        device_(allocate(host_.size())) {
    poison();
  }
  ~Array() { release(device_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  template <typename T = void>
  T* data() {
    if (changed_here_) upload(device_, host_.data(), host_.size());
    changed_here_ = false;
    changed_there_ = true;
    return reinterpret_cast<T*>(device_ + guard);
  }
  const char* raw() const { return here() + guard; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * width_; }

  // How many elements still are as they were poisoned.
  std::size_t unwritten() const {
    const char* all = raw();
    std::size_t count = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      bool is_poison = true;
      for (std::size_t k = 0; k < width_; ++k) is_poison = is_poison && all[i * width_ + k] == '\xff';
      count += is_poison;
    }
    return count;
  }

  void poison() {
    std::memset(host_.data(), guard_byte, host_.size());
    std::memset(host_.data() + guard, 0xff, bytes());
    changed_here_ = true;
    changed_there_ = false;
  }

  // Whether nothing was written before or behind the array.
  bool intact() const {
    const char* all = here();
    for (std::size_t i = 0; i < guard; ++i)
      if (all[i] != guard_byte || all[guard + bytes() + i] != guard_byte) return false;
    return true;
  }

  // Rounds to the array's type.
  void set(std::size_t i, double value) {
    here();
    changed_here_ = true;
    char* at = host_.data() + guard + i * width_;
    const float single = float(value);
    if (type_ == Type::f32) {
      std::memcpy(at, &single, 4);
    } else if (type_ == Type::i32) {
      const std::int32_t integer = std::int32_t(value);
      std::memcpy(at, &integer, 4);
    } else {
      const std::uint16_t bits = type_ == Type::f16 ? f16_bits(single) : bf16_bits(single);
      std::memcpy(at, &bits, 2);
    }
  }

  double get(std::size_t i) const {
    const char* at = raw() + i * width_;
    float single;
    std::int32_t integer;
    std::uint16_t bits;
    switch (type_) {
      case Type::f32: std::memcpy(&single, at, 4); return single;
      case Type::i32: std::memcpy(&integer, at, 4); return integer;
      case Type::f16: std::memcpy(&bits, at, 2); return f16_value(bits);
      case Type::bf16: std::memcpy(&bits, at, 2); return bf16_value(bits);
    }
    return NAN;
  }

 private:
  const char* here() const {
    if (changed_there_) download(host_.data(), device_, host_.size());
    changed_there_ = false;
    return host_.data();
  }

  static constexpr std::size_t guard = 256;
  static constexpr char guard_byte = 0x5a;
  Type type_;
  std::size_t size_, width_;
  mutable std::vector<char> host_;
  char* device_;
  bool changed_here_ = true;
  mutable bool changed_there_ = false;
};

// ---- Inputs and errors ----

// Numbers that depend on the seed and the case alone, not on which cases ran before.
class Random {
 public:
  Random(std::uint64_t seed, const std::string& key) : state_(seed) {
    for (const char c : key) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  double uniform(double low, double high) {
    return low + (high - low) * double(next() >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

// How far `count` elements from `first` on are from `want`: the norm of the difference, relative
// to the norm of what is wanted (absolute if that is zero). no_figure if an element is not finite
// and another value is wanted.
inline double relative_error(const Array& got, std::size_t first, const double* want,
                             std::size_t count) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double g = got.get(first + i), w = want[i];
    if (g == w) {
      if (std::isfinite(w)) size += w * w;
      continue;
    }
    if (!std::isfinite(g) || !std::isfinite(w)) return no_figure;
    difference += (g - w) * (g - w);
    size += w * w;
  }
  return std::sqrt(difference) / (size > 0 ? std::sqrt(size) : 1.0);
}

// The largest relative error of a row: a wrong row must not hide among many right ones.
inline double row_error(const Array& got, const std::vector<double>& want, std::size_t width) {
  if (width == 0 || want.size() != got.size() || want.size() % width != 0) return no_figure;
  double worst = 0;
  for (std::size_t first = 0; first < want.size(); first += width)
    worst = std::fmax(worst, relative_error(got, first, want.data() + first, width));
  return worst;
}

// ---- References in float64 ----

// `f(i)` for each i: on the device if there is one, else here. F is a struct with
// `KT_BOTH double operator()(std::size_t i) const` that reads its inputs by kt::value_at.
#if defined(__CUDACC__)

template <typename F>
static __global__ void reference_kernel(F f, double* out, std::size_t count) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = f(i);
}

template <typename F>
std::vector<double> reference(std::size_t count, F f) {
  std::vector<double> out(count);
  if (count == 0) return out;
  char* memory = allocate(count * sizeof(double));
  reference_kernel<<<unsigned((count + 255) / 256), 256>>>(f, reinterpret_cast<double*>(memory), count);
  download(reinterpret_cast<char*>(out.data()), memory, count * sizeof(double));
  release(memory);
  return out;
}

#else

template <typename F>
std::vector<double> reference(std::size_t count, F f) {
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = f(i);
  return out;
}

#endif

// ---- Times ----

// Milliseconds of several launches.
struct Times {
  std::vector<double> samples;

  double median() const { return quantile(0.5); }
  // The middle half of them.
  double spread() const { return quantile(0.75) - quantile(0.25); }

 private:
  double quantile(double share) const {
    if (samples.empty()) return NAN;
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const double at = share * double(sorted.size() - 1);
    const std::size_t below = std::size_t(at), above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
  }
};

#if defined(__CUDACC__)

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "kernel test: %s\n", cudaGetErrorString(error));
  std::abort();
}

template <typename Run>
Times timed(Run run, cudaStream_t stream, int samples, int warm) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  for (int i = 0; i < warm; ++i) run();
  Times times;
  for (int i = 0; i < samples; ++i) {
    float taken = 0;
    check(cudaEventRecord(begin, stream));
    run();
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&taken, begin, end));
    times.samples.push_back(taken);
  }
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  return times;
}

// By events around each launch.
template <typename Launch>
Times time_launches(Launch launch, int samples = 20, int warm = 3) {
  return timed(launch, cudaStream_t(nullptr), samples, warm);
}

// By replays of the launch as a graph, so that what the host does is not measured. `launch(stream)`
// must launch into that stream and wait for nothing.
template <typename Launch>
Times time_graph(Launch launch, int samples = 20, int warm = 3) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  check(cudaStreamCreate(&stream));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch(stream);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiateWithFlags(&replay, graph, 0));
  const Times times =
      timed([&] { check(cudaGraphLaunch(replay, stream)); }, stream, samples, warm);
  check(cudaGraphExecDestroy(replay));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
  return times;
}

#else

// By the clock.
template <typename Launch>
Times time_launches(Launch launch, int samples = 20, int warm = 3) {
  for (int i = 0; i < warm; ++i) launch();
  Times times;
  for (int i = 0; i < samples; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    launch();
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    times.samples.push_back(taken.count());
  }
  return times;
}

#endif

// ---- The report ----

class Report {
 public:
  Report(int argc, char** argv) : program_(argc > 0 ? argv[0] : "") {
    for (int i = 1; i < argc; ++i) {
      const std::string option = argv[i];
      const auto value = [&]() -> std::string {
        if (i + 1 >= argc) stop(option + " wants a value");
        return argv[++i];
      };
      if (option == "--only") {
        choose_ = true;
        only_.push_back(canonical(value()));
      } else if (option == "--skip") {
        skip_.push_back(canonical(value()));
      } else if (option == "--fills") {
        set_fills(value());
      } else if (option == "--list") {
        list_ = true;
      } else if (option == "--fresh") {
        fresh_ = true;
      } else {
        options_.push_back(option);
      }
    }
    if (const char* file = std::getenv("OVERLAID_ONLY")) {
      choose_ = true;
      read_cases(file, only_);
    }
    if (const char* file = std::getenv("OVERLAID_SKIP")) read_cases(file, skip_);
    // There is no device: a case that is run on one is not asked for.
    if (const char* needs = std::getenv("OVERLAID_NEEDS"))
      no_device_ = std::string(needs) == "compile";
    if (const char* seed = std::getenv("OVERLAID_SEED")) seed_ = std::strtoull(seed, nullptr, 0);
    const char* results = std::getenv("OVERLAID_RESULTS");
    if (results && *results && !list_) {
      out_ = std::fopen(results, "a");
      if (!out_) stop(std::string("cannot write ") + results);
    }
  }

  // Whether an option of the test's own was given, such as --full.
  bool flag(const char* option) const {
    for (const std::string& o : options_)
      if (o == option) return true;
    return false;
  }

  std::uint64_t seed() const { return seed_; }

  // Announces a case; false if it is not to be run.
  bool begin(const Case& c) {
    const std::string key = canonical(c.json());
    if (choose_ && !contains(only_, key)) return false;
    if (contains(skip_, key)) return false;
    case_ = c.json();
    if (list_) {
      std::printf("%s\n", case_.c_str());
      return false;
    }
    if (no_device_) return false;
    if (fresh_) {
      run_fresh();
      return false;
    }
    line("\"status\": \"start\"");
    return true;
  }

  // Sizes for a sweep up to `last`: multiples of `step`, powers of two, and their neighbours, where
  // kernels change their ways.
  static std::vector<int> sizes(int last, int step) {
    std::vector<int> all;
    for (int size = step; size <= last; size += step) all.push_back(size);
    for (long long power = 2; power <= last; power *= 2)
      for (const long long size : {power - 1, power, power + 1})
        if (size <= last) all.push_back(int(size));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void figure(const char* metric, double value, double max, const std::string& why = "") {
    if (!(value <= no_figure)) value = no_figure;  // NaN too
    if (!(value <= max)) ++failed_;
    ++judged_;
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, "\"value\": %.6g, \"max\": %.6g", value, max);
    line("\"metric\": " + quoted(metric) + ", " + numbers + because(why));
  }
  // Reports the median of some times, and their spread.
  void speed(const char* metric, const Times& times) {
    ++judged_;
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, "\"value\": %.6g, \"spread\": %.6g", times.median(),
                  times.spread());
    line("\"metric\": " + quoted(metric) + ", \"better\": \"lower\", " + numbers);
  }
  void skip(const std::string& why) { line("\"status\": \"skip\"" + because(why)); }
  void error(const std::string& why) {
    ++failed_;
    ++judged_;
    line("\"status\": \"error\"" + because(why));
  }

  // Runs `launch` once for each of the fills of shared memory, into a poisoned `output`, and
  // reports the largest `error()`. `launch` returns nullptr or why it was refused. A result that
  // depends on the fill has failed, whatever its error is.
  template <typename Launch, typename Error>
  void judge(const char* metric, double max, Array& output, Launch launch, Error error) {
    double worst = -1, worst_fill = 0, best = 0, best_fill = 0;
    bool depends = false;
    std::size_t left = 0;
    std::vector<char> first;
    const std::size_t runs = fills_.empty() ? 1 : fills_.size();
    for (std::size_t run = 0; run < runs; ++run) {
      const float fill = fills_.empty() ? 0.0f : fills_[run];
      output.poison();
      std::uint32_t word;
      std::memcpy(&word, &fill, sizeof word);
      if (!fills_.empty()) fill_shared(word);
      if (const char* refusal = launch()) return this->error(refusal);
      finish();
      if (!output.intact())
        return figure(metric, no_figure, max, "wrote before or behind the output");
      const double e = error();
      left = left ? left : output.unwritten();
      if (run == 0) {
        first.assign(output.raw(), output.raw() + output.bytes());
        best = e;
        best_fill = fill;
      } else if (std::memcmp(first.data(), output.raw(), output.bytes()) != 0) {
        depends = true;
      }
      if (!(e <= worst)) {
        worst = e;
        worst_fill = fill;
      }
      if (e < best) {
        best = e;
        best_fill = fill;
      }
    }
    if (!depends) {
      std::string why = worst >= no_figure ? "not finite" : "";
      if (worst >= no_figure && left)
        why = std::to_string(left) + " of " + std::to_string(output.size()) +
              " elements were never written";
      return figure(metric, worst, max, why);
    }
    char why[160];
    std::snprintf(why, sizeof why,
                  "depends on what shared memory held before: %.3g with %g in every word, "
                  "%.3g with %g",
                  worst, worst_fill, best, best_fill);
    figure(metric, worst > max ? worst : no_figure, max, why);
  }

  // 0 if every case passed, 1 if one did not, 77 if none ran.
  int exit_code() {
    if (out_ != stdout) std::fclose(out_);
    if (list_) return 0;
    return failed_ ? 1 : judged_ ? 0 : 77;
  }

 private:
  // Runs the case in a process of its own, in which no other one has left anything.
  void run_fresh() {
#if defined(__unix__)
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      std::vector<std::string> words = options_;
      words.insert(words.begin(), program_);
      words.insert(words.end(), {"--only", case_});
      std::string fills = fills_.empty() ? "none" : "";
      for (const float fill : fills_) {
        char text[40];
        std::snprintf(text, sizeof text, "%s%.9g", fills.empty() ? "" : ",", fill);
        fills += text;
      }
      words.insert(words.end(), {"--fills", fills});
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(&word[0]);
      arguments.push_back(nullptr);
      execv(program_.c_str(), arguments.data());
      _exit(2);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) stop("cannot start a process");
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    judged_ += code != 77;
    failed_ += code != 0 && code != 77;
#else
    stop("--fresh is not known on this system");
#endif
  }

  static bool contains(const std::vector<std::string>& list, const std::string& key) {
    for (const std::string& item : list)
      if (item == key) return true;
    return false;
  }

  static void read_cases(const char* file, std::vector<std::string>& into) {
    if (!*file) return;
    std::FILE* in = std::fopen(file, "r");
    if (!in) stop(std::string("cannot read ") + file);
    std::string text;
    for (int c = std::fgetc(in);; c = std::fgetc(in)) {
      if (c != EOF && c != '\n') {
        text += char(c);
        continue;
      }
      if (text.find('{') != std::string::npos) into.push_back(canonical(text));
      text.clear();
      if (c == EOF) break;
    }
    std::fclose(in);
  }

  void set_fills(const std::string& text) {
    fills_.clear();
    if (text == "none") return;
    for (const char* at = text.c_str(); *at;) {
      char* end;
      fills_.push_back(std::strtof(at, &end));
      if (end == at) stop("--fills wants numbers with commas between them, or `none`");
      at = *end == ',' ? end + 1 : end;
    }
  }

  static std::string because(const std::string& why) {
    return why.empty() ? "" : ", \"why\": " + quoted(why);
  }

  // Flushed line by line: what was said before a crash must not be lost.
  void line(const std::string& members) {
    std::fprintf(out_, "{\"case\": %s, %s}\n", case_.c_str(), members.c_str());
    std::fflush(out_);
  }

  std::FILE* out_ = stdout;
  std::vector<std::string> only_, skip_, options_;
  std::vector<float> fills_{0.0f, 1.0f, 10000.0f};
  bool choose_ = false, list_ = false, no_device_ = false, fresh_ = false;
  std::string program_;
  std::uint64_t seed_ = 1;
  std::string case_ = "null";
  int failed_ = 0, judged_ = 0;
};

}  // namespace kt
