/* Moves the wall clock of one process by as many seconds as the file named by ICHOR_MOVED_CLOCK holds (eight bytes,
   little endian), now and whenever they change. The monotonic clock stays, as when a clock is set. Preloaded, so that
   the program under test has no setting for it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static const volatile int64_t *offset(void) {
    static const volatile int64_t *mapped;
    static const int64_t none = 0;
    const char *file;
    int descriptor;
    void *memory;

    if (mapped)
        return mapped;
    file = getenv("ICHOR_MOVED_CLOCK");
    if (!file || (descriptor = open(file, O_RDONLY | O_CLOEXEC)) < 0)
        return &none;
    memory = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        return &none;
    mapped = memory;
    return mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    int failed;

    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    failed = real(clock, time);
    if (!failed && clock == CLOCK_REALTIME)
        time->tv_sec += *offset();
    return failed;
}
