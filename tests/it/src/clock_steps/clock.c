/* A real-time clock that differs from the real one by the seconds in the file IDGATE_CLOCK. Preloaded
 * before the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, now);
    const char *path = getenv("IDGATE_CLOCK");
    if (result != 0 || clock != CLOCK_REALTIME || path == NULL) return result;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return result;
    char text[32] = {0};
    if (read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
    close(file);
    return result;
}
