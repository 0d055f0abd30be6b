/* A scripted getaddrinfo, loaded before the C library. The lines of $IDGATE_NAMES are `name address,address…`, and
 * the n-th lookup of a name gets its n-th line, or its last one. Each lookup is recorded in
 * $IDGATE_NAMES.asked. Names that are not in the script go to the system. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*getaddrinfo_fn)(const char *, const char *, const struct addrinfo *,
                              struct addrinfo **);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* How often `name` was looked up. */
static int asked(const char *path, const char *name)
{
    char line[512];
    int count = 0;
    FILE *notes = fopen(path, "r");
    while (notes && fgets(line, sizeof line, notes)) {
        line[strcspn(line, "\n")] = 0;
        count += strcmp(line, name) == 0;
    }
    if (notes)
        fclose(notes);
    return count;
}

/* The addresses in the n-th line for `name`, or in the last one. 0: the script has none. */
static int find(const char *path, const char *name, int n, char *addresses, size_t size)
{
    char line[512];
    int found = 0;
    FILE *script = fopen(path, "r");
    while (script && found <= n && fgets(line, sizeof line, script)) {
        char *rest = line;
        const char *key = strsep(&rest, " ");
        if (!rest || strcmp(key, name) != 0)
            continue;
        rest[strcspn(rest, "\n")] = 0;
        snprintf(addresses, size, "%s", rest);
        found++;
    }
    if (script)
        fclose(script);
    return found;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result)
{
    getaddrinfo_fn system = (getaddrinfo_fn)dlsym(RTLD_NEXT, "getaddrinfo");
    const char *path = getenv("IDGATE_NAMES");
    char notes[512], addresses[512], *rest = addresses, *address;
    struct addrinfo **end = result;
    int known = 0;
    if (!path || !node)
        return system(node, service, hints, result);
    snprintf(notes, sizeof notes, "%s.asked", path);
    pthread_mutex_lock(&lock);
    known = find(path, node, asked(notes, node), addresses, sizeof addresses);
    if (known) {
        FILE *note = fopen(notes, "a");
        fprintf(note, "%s\n", node);
        fclose(note);
    }
    pthread_mutex_unlock(&lock);
    if (!known)
        return system(node, service, hints, result);
    *result = NULL;
    while ((address = strsep(&rest, ","))) {
        struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
        if (system(address, service, &numeric, end) != 0)
            return EAI_FAIL;
        while (*end)
            end = &(*end)->ai_next;
    }
    return 0;
}
