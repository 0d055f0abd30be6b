/* Lets a test control the clocks and the random source of a running process. tests/it/src/machine.rs writes the
 * page that TEST_MACHINE names. */
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
    int64_t jumped;     /* how far all clocks are ahead, in nanoseconds */
    int64_t frozen;     /* the machine's monotonic time when the clocks were stopped; 0: they run */
    int64_t set;        /* how far only the real-time clock was set, in nanoseconds */
    int64_t randomless; /* not 0: random numbers fail */
    int64_t slept;      /* the total time that its threads asked to sleep, in nanoseconds */
    int64_t latest;     /* the latest time that a monotonic clock returned */
    int64_t epoch;      /* nanoseconds from the zero of the monotonic clock to that of the real-time clock */
} *machine;

#define SECOND 1000000000LL
/* How often a wait checks the clock. */
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

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TEST_MACHINE");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *machine, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) machine = page;
    close(file);
}

/* The test's settings, read consistently. */
struct stop {
    int64_t jumped, frozen;
};

static struct stop look(void) {
    for (;;) {
        struct stop seen = {machine->jumped, machine->frozen};
        if (seen.jumped == machine->jumped && seen.frozen == machine->frozen) return seen;
    }
}

/* This time, or the latest time that any thread has seen, if that is later. When a test stops the clocks, the time at
 * which they stop may have passed already. */
static int64_t not_before_latest(int64_t ns) {
    int64_t latest = __atomic_load_n(&machine->latest, __ATOMIC_SEQ_CST);
    while (latest < ns) {
        if (__atomic_compare_exchange_n(&machine->latest, &latest, ns, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return ns;
    }
    return latest;
}

/* The process's monotonic clock. It never goes back, even if a thread is preempted in here. */
static int64_t own_monotonic_ns(void) {
    if (!machine) return machine_ns(CLOCK_MONOTONIC);
    for (;;) {
        struct stop before = look();
        int64_t ns = before.frozen ? before.frozen : machine_ns(CLOCK_MONOTONIC);
        struct stop after = look();
        if (before.jumped == after.jumped && before.frozen == after.frozen) return not_before_latest(ns + before.jumped);
    }
}

/* The process's clock, or the machine's for clocks that are not controlled: those of CPU time. */
static int64_t own_ns(clockid_t clock) {
    if (!machine) return machine_ns(clock);
    switch (clock) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
        return own_monotonic_ns();
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        return own_monotonic_ns() + machine->epoch + machine->set;
    default:
        return machine_ns(clock);
    }
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    if (!machine) return clock_of_machine(clock, at);
    int64_t ns = own_ns(clock);
    if (ns == 0) return clock_of_machine(clock, at);
    *at = from_ns(ns);
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    (void)zone;
    int64_t ns = own_ns(CLOCK_REALTIME);
    at->tv_sec = ns / SECOND;
    at->tv_usec = ns % SECOND / 1000;
    return 0;
}

time_t time(time_t *at) {
    time_t seconds = own_ns(CLOCK_REALTIME) / SECOND;
    if (at) *at = seconds;
    return seconds;
}

/* A wait of this length. It ends after that time by the machine's clock, so that nothing hangs on stopped clocks, or
 * by the process's own clock, so that a jump ends it. */
struct wait {
    int64_t until, own_until;
};

static struct wait begin_wait(int64_t ns) {
    /* On stopped clocks a thread with almost no time left would wait again immediately, over and over. */
    int64_t real = machine && machine->frozen && ns > 0 && ns < SLICE ? SLICE : ns;
    return (struct wait){machine_ns(CLOCK_MONOTONIC) + real, own_monotonic_ns() + ns};
}

/* The rest of the wait, at most a slice. 0: it is over. */
static int64_t slice_of(const struct wait *wait) {
    int64_t left = wait->until - machine_ns(CLOCK_MONOTONIC), own_left = wait->own_until - own_monotonic_ns();
    if (left <= 0 || own_left <= 0) return 0;
    /* On stopped clocks the rest passes only by a jump, so the wait need not check more often, however short it is. */
    if (!(machine && machine->frozen) && own_left < left) left = own_left;
    return left < SLICE ? left : SLICE;
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
    if (flags & TIMER_ABSTIME) ns -= own_ns(clock);
    int failed = wait_in_slices(ns);
    /* Starts again with the full time: nothing here waits and is often interrupted. */
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

/* In milliseconds, the unit of epoll and poll, rounded up. */
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

/* Rust's condition variables and parked threads wait with the system call itself, until a time by the clock that they
 * read. */
static long wait_for_futex(void *word, int operation, long value, const struct timespec *until, long mask) {
    clockid_t clock = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct wait wait = begin_wait(in_ns(until) - own_ns(clock));
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
