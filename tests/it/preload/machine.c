/* The clocks and the random source of a process, set by a test while the process runs: see tests/it/src/machine.rs,
 * which writes the page that TEST_MACHINE names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile struct {
    int64_t jumped;     /* nanoseconds that all clocks are ahead */
    int64_t frozen;     /* the machine's monotonic time when the clocks were stopped; 0: they run */
    int64_t set;        /* nanoseconds that the real-time clock alone was set by */
    int64_t randomless; /* not 0: there is no randomness */
    int64_t slept;      /* nanoseconds that its threads asked to sleep */
} *machine;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TEST_MACHINE");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *machine, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) machine = page;
    close(file);
}

#define SECOND 1000000000LL
/* A wait looks at the clock so often. */
#define SLICE (5 * SECOND / 1000)

static int64_t in_ns(const struct timespec *at) { return at->tv_sec * SECOND + at->tv_nsec; }

static struct timespec from_ns(int64_t ns) { return (struct timespec){ns / SECOND, ns % SECOND}; }

static long (*next_syscall(void))(long, ...) {
    static long (*next)(long, ...);
    if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next;
}

static int clock_of_machine(clockid_t clock, struct timespec *at) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return next(clock, at);
}

static int64_t machine_ns(clockid_t clock) {
    struct timespec at = {0, 0};
    clock_of_machine(clock, &at);
    return in_ns(&at);
}

/* How far the process's clock is ahead of the machine's. */
static int64_t ahead(clockid_t clock) {
    if (!machine || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0) return 0;
    int64_t frozen = machine->frozen;
    int64_t ns = machine->jumped - (frozen ? machine_ns(CLOCK_MONOTONIC) - frozen : 0);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) ns += machine->set;
    return ns;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int64_t frozen = machine ? machine->frozen : 0;
    if (frozen && clock == CLOCK_MONOTONIC) {
        /* To the nanosecond: a thread that loses its turn between two looks at the machine's clock is not set back. */
        *at = from_ns(frozen + machine->jumped);
        return 0;
    }
    int failed = clock_of_machine(clock, at);
    int64_t ns = failed ? 0 : ahead(clock);
    if (ns) *at = from_ns(in_ns(at) + ns);
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    (void)zone;
    int64_t ns = machine_ns(CLOCK_REALTIME) + ahead(CLOCK_REALTIME);
    at->tv_sec = ns / SECOND;
    at->tv_usec = ns % SECOND / 1000;
    return 0;
}

time_t time(time_t *at) {
    time_t seconds = (machine_ns(CLOCK_REALTIME) + ahead(CLOCK_REALTIME)) / SECOND;
    if (at) *at = seconds;
    return seconds;
}

/* A wait of so long: it is over after that time by the machine's clock, so that stopped clocks let nothing hang, or
 * by the process's own, so that a jump ends it. */
struct wait {
    int64_t until, own_until;
};

static struct wait begin_wait(int64_t ns) {
    int64_t now = machine_ns(CLOCK_MONOTONIC);
    return (struct wait){now + ns, now + ahead(CLOCK_MONOTONIC) + ns};
}

/* What is left of it, at most a slice; 0: it is over. */
static int64_t slice_of(const struct wait *wait) {
    int64_t now = machine_ns(CLOCK_MONOTONIC);
    int64_t left = wait->until - now, own_left = wait->own_until - (now + ahead(CLOCK_MONOTONIC));
    if (own_left < left) left = own_left;
    return left <= 0 ? 0 : left < SLICE ? left : SLICE;
}

static int wait_in_slices(int64_t ns) {
    static int (*next)(clockid_t, int, const struct timespec *, struct timespec *);
    if (!next) next = (int (*)(clockid_t, int, const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "clock_nanosleep");
    if (machine) __atomic_fetch_add(&machine->slept, ns, __ATOMIC_RELAXED);
    struct wait wait = begin_wait(ns);
    int64_t slice;
    while ((slice = slice_of(&wait))) {
        struct timespec length = from_ns(slice);
        int failed = next(CLOCK_MONOTONIC, 0, &length, NULL);
        if (failed) return failed;
    }
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *length, struct timespec *left) {
    int64_t ns = in_ns(length);
    if (flags & TIMER_ABSTIME) ns -= machine_ns(clock) + ahead(clock);
    int failed = wait_in_slices(ns);
    /* Begun again with all of it: nothing here waits and is interrupted often. */
    if (failed && left && !(flags & TIMER_ABSTIME)) *left = *length;
    return failed;
}

int nanosleep(const struct timespec *length, struct timespec *left) {
    int failed = wait_in_slices(in_ns(length));
    if (failed && left) *left = *length;
    if (failed) errno = failed;
    return failed ? -1 : 0;
}

int usleep(useconds_t us) {
    int failed = wait_in_slices(us * 1000LL);
    if (failed) errno = failed;
    return failed ? -1 : 0;
}

/* In milliseconds, as epoll and poll count, and not less than what is left. */
static int in_ms(int64_t ns) { return (int)((ns + SECOND / 1000 - 1) / (SECOND / 1000)); }

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
    static int (*next)(int, struct epoll_event *, int, int);
    if (!next) next = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    if (!machine || timeout <= 0) return next(epoll, events, most, timeout);
    struct wait wait = begin_wait(timeout * (SECOND / 1000));
    for (;;) {
        int64_t slice = slice_of(&wait);
        int ready = next(epoll, events, most, in_ms(slice));
        if (ready != 0 || slice == 0) return ready;
    }
}

int poll(struct pollfd *files, nfds_t count, int timeout) {
    static int (*next)(struct pollfd *, nfds_t, int);
    if (!next) next = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    if (!machine || timeout <= 0) return next(files, count, timeout);
    struct wait wait = begin_wait(timeout * (SECOND / 1000));
    for (;;) {
        int64_t slice = slice_of(&wait);
        int ready = next(files, count, in_ms(slice));
        if (ready != 0 || slice == 0) return ready;
    }
}

/* Condition variables and parked threads of Rust wait by the system call itself, with a time of the clock that they
 * read. */
static long wait_for_futex(void *word, int operation, long value, const struct timespec *until, long mask) {
    clockid_t clock = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct wait wait = begin_wait(in_ns(until) - machine_ns(clock) - ahead(clock));
    for (;;) {
        int64_t slice = slice_of(&wait);
        struct timespec at = from_ns(machine_ns(clock) + slice);
        long woken = next_syscall()(SYS_futex, word, operation, value, &at, NULL, mask);
        if (woken == 0 || errno != ETIMEDOUT || slice == 0) return woken;
    }
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (machine && number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && d)
        return wait_for_futex((void *)a, (int)b, c, (const struct timespec *)d, f);
    return next_syscall()(number, a, b, c, d, e, f);
}

ssize_t getrandom(void *to, size_t length, unsigned flags) {
    if (machine && machine->randomless) {
        errno = ENOSYS;
        return -1;
    }
    return next_syscall()(SYS_getrandom, to, length, flags);
}
