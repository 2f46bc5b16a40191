// Records what programs change in one folder, for simulated power cuts: loaded with LD_PRELOAD, it appends each write, truncation,
// sync and change of a name to METER_WRITE_LOG. Several processes may share a log, for example PostgreSQL's.
// tests/chaos/power/write-log.ts reads the log.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OP_WRITE = 1, OP_TRUNCATE, OP_SYNC, OP_CREATE, OP_RENAME, OP_UNLINK, OP_MKDIR, OP_LINK };

struct header {
  uint64_t time_ns, ino, offset;
  uint32_t op, path_len, data_len, reserved;
};

// In memory that all processes of a log share, so that the log has the order in which their calls took effect.
static pthread_mutex_t *shared;
static const char *root;
static size_t root_len;
static int log_fd = -1;
static __thread int inside;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void open_lock(const char *log) {
  char path[4096];
  snprintf(path, sizeof path, "%s.lock", log);
  int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct stat stats;
  if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &stats) != 0) abort();
  int is_new = stats.st_size == 0;
  if (is_new && syscall(SYS_ftruncate, fd, sizeof *shared) != 0) abort();
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) abort();
  if (is_new) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(shared, &attributes);
  }
  // The memory keeps the file open, and so its lock.
  flock(fd, LOCK_UN);
  close(fd);
}

static void lock(void) {
  // A process that held it was killed.
  if (pthread_mutex_lock(shared) == EOWNERDEAD) pthread_mutex_consistent(shared);
}

static void unlock(void) { pthread_mutex_unlock(shared); }

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("METER_WRITE_LOG");
  const char *folder = getenv("METER_WRITE_ROOT");
  if (path == NULL || folder == NULL) return;
  // PostgreSQL writes its title over the variables.
  root = strdup(folder);
  root_len = strlen(root);
  open_lock(path);
  log_fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_recorded(const char *path) {
  return log_fd >= 0 && strncmp(path, root, root_len) == 0 && (path[root_len] == '/' || path[root_len] == 0);
}

static void record(uint32_t op, uint64_t ino, uint64_t offset, const char *path, const void *data, size_t len) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct header head = {(uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, ino, offset, op,
                        (uint32_t)strlen(path), (uint32_t)len, 0};
  struct iovec parts[3] = {{&head, sizeof head}, {(void *)path, head.path_len}, {(void *)data, len}};
  syscall(SYS_writev, log_fd, parts, 3);
}

// The path of a descriptor, if it is a recorded one.
static int path_of(int fd, char path[4096]) {
  if (log_fd < 0 || inside) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t len = readlink(link, path, 4095);
  if (len <= 0) return 0;
  path[len] = 0;
  return is_recorded(path);
}

static uint64_t ino_of(int fd) {
  struct stat stats;
  return fstat(fd, &stats) == 0 ? stats.st_ino : 0;
}

// Runs a call and records it in one step, so that the log has the order in which calls took effect.
#define RECORDED(fd, call, on_success)                \
  char path[4096];                                    \
  if (!path_of(fd, path)) return call;                \
  lock();                                             \
  inside = 1;                                         \
  __typeof__(call) result = call;                     \
  int saved = errno;                                  \
  if (result >= 0) { on_success; }                    \
  errno = saved;                                      \
  inside = 0;                                         \
  unlock();                                           \
  return result

ssize_t write(int fd, const void *data, size_t len) {
  RECORDED(fd, REAL(write)(fd, data, len),
           record(OP_WRITE, ino_of(fd), (uint64_t)(lseek(fd, 0, SEEK_CUR) - result), path, data, (size_t)result));
}
ssize_t pwrite(int fd, const void *data, size_t len, off_t at) {
  RECORDED(fd, REAL(pwrite)(fd, data, len, at),
           record(OP_WRITE, ino_of(fd), (uint64_t)at, path, data, (size_t)result));
}
ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at) {
  RECORDED(fd, REAL(pwrite64)(fd, data, len, at),
           record(OP_WRITE, ino_of(fd), (uint64_t)at, path, data, (size_t)result));
}

static void record_parts(int fd, const char *path, const struct iovec *parts, int count, uint64_t at, size_t left) {
  for (int i = 0; i < count && left > 0; i++) {
    size_t len = parts[i].iov_len < left ? parts[i].iov_len : left;
    record(OP_WRITE, ino_of(fd), at, path, parts[i].iov_base, len);
    at += len;
    left -= len;
  }
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  RECORDED(fd, REAL(writev)(fd, parts, count),
           record_parts(fd, path, parts, count, (uint64_t)(lseek(fd, 0, SEEK_CUR) - result), (size_t)result));
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  RECORDED(fd, REAL(pwritev)(fd, parts, count, at),
           record_parts(fd, path, parts, count, (uint64_t)at, (size_t)result));
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  RECORDED(fd, REAL(pwritev64)(fd, parts, count, at),
           record_parts(fd, path, parts, count, (uint64_t)at, (size_t)result));
}
int ftruncate(int fd, off_t len) {
  RECORDED(fd, REAL(ftruncate)(fd, len), record(OP_TRUNCATE, ino_of(fd), (uint64_t)len, path, "", 0));
}
int ftruncate64(int fd, off64_t len) {
  RECORDED(fd, REAL(ftruncate64)(fd, len), record(OP_TRUNCATE, ino_of(fd), (uint64_t)len, path, "", 0));
}
int posix_fallocate(int fd, off_t at, off_t len) {
  RECORDED(fd, REAL(posix_fallocate)(fd, at, len), record(OP_WRITE, ino_of(fd), (uint64_t)(at + len), path, "", 0));
}
int fsync(int fd) {
  RECORDED(fd, REAL(fsync)(fd), record(OP_SYNC, ino_of(fd), 0, path, "", 0));
}
int fdatasync(int fd) {
  RECORDED(fd, REAL(fdatasync)(fd), record(OP_SYNC, ino_of(fd), 0, path, "", 0));
}

static int opened(int fd, const char *name, int flags) {
  int saved = errno;
  char path[4096];
  (void)name;
  if (fd >= 0 && (flags & (O_CREAT | O_TRUNC)) && path_of(fd, path)) {
    lock();
    if (flags & O_CREAT) record(OP_CREATE, ino_of(fd), 0, path, "", 0);
    if (flags & O_TRUNC) record(OP_TRUNCATE, ino_of(fd), 0, path, "", 0);
    unlock();
  }
  errno = saved;
  return fd;
}

#define MODE(last)                                    \
  va_list more;                                       \
  va_start(more, last);                               \
  mode_t mode = va_arg(more, mode_t);                 \
  va_end(more)

int open(const char *name, int flags, ...) {
  MODE(flags);
  return opened(REAL(open)(name, flags, mode), name, flags);
}
int open64(const char *name, int flags, ...) {
  MODE(flags);
  return opened(REAL(open64)(name, flags, mode), name, flags);
}
int openat(int folder, const char *name, int flags, ...) {
  MODE(flags);
  return opened(REAL(openat)(folder, name, flags, mode), name, flags);
}
int openat64(int folder, const char *name, int flags, ...) {
  MODE(flags);
  return opened(REAL(openat64)(folder, name, flags, mode), name, flags);
}

// PostgreSQL's processes name files relative to the folder of the cluster.
static const char *absolute(const char *path, char place[8192]) {
  char folder[4096];
  if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL) return path;
  snprintf(place, 8192, "%s/%s", folder, path);
  return place;
}

#define NAMED(call, op, first, second)                                                       \
  char places[2][8192];                                                                      \
  if (log_fd < 0) return call;                                                               \
  const char *path = absolute(first, places[0]);                                             \
  const char *data = second[0] == 0 ? "" : absolute(second, places[1]);                       \
  if (!is_recorded(path)) return call;                                                       \
  lock();                                                                                    \
  int result = call;                                                                         \
  int saved = errno;                                                                         \
  if (result == 0) record(op, 0, 0, path, data, strlen(data));                               \
  errno = saved;                                                                             \
  unlock();                                                                                  \
  return result

int rename(const char *from, const char *to) {
  NAMED(REAL(rename)(from, to), OP_RENAME, from, to);
}
int link(const char *from, const char *to) {
  NAMED(REAL(link)(from, to), OP_LINK, from, to);
}
int unlink(const char *name) {
  NAMED(REAL(unlink)(name), OP_UNLINK, name, "");
}
int mkdir(const char *name, mode_t mode) {
  NAMED(REAL(mkdir)(name, mode), OP_MKDIR, name, "");
}
