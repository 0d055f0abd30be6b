/* Randomness that can be taken away from one process: while RANDOM_GONE holds something else than 0, there is none. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int64_t *gone;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("RANDOM_GONE");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *gone, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) gone = page;
    close(file);
}

ssize_t getrandom(void *to, size_t length, unsigned flags) {
    if (gone && *gone) {
        errno = ENOSYS;
        return -1;
    }
    return syscall(SYS_getrandom, to, length, flags);
}
