/* A system clock that can be set for one process: what CLOCK_MILLIS holds is added to CLOCK_REALTIME. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *step;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CLOCK_MILLIS");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *step, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) step = page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int failed = (int)syscall(SYS_clock_gettime, clock, at);
    if (!failed && clock == CLOCK_REALTIME && step) at->tv_sec += *step / 1000;
    return failed;
}
