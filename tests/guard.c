/* An allocator for tests: each block lies between pages that nobody may touch, so a read or write beside it, or after
   it was freed, ends the process. Fresh memory holds a pattern; the bytes between a block and its page boundary hold
   another, which is looked at when the block is freed. Blocks beyond a limit are not given. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define FRESH 0xA5
#define SLACK 0x5A
#define SLOTS (1 << 18)
#define QUARANTINE 512

typedef struct { char *at; char *base; size_t size, span; } Block; /* span: of the pages between the guards */

static Block table[SLOTS];
static Block freed[QUARANTINE];
static size_t turn, blocks, limit = (size_t)1 << 27;
static int at_start; /* blocks begin right after a guard page; else they end right before one */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void guard_configure(int start, size_t most) { at_start = start; limit = most; }
size_t guard_blocks(void) { return blocks; }

static void die(const char *what, void *at, size_t size) {
    char text[160];
    int length = snprintf(text, sizeof text, "guard: %s: block %p of %zu bytes\n", what, at, size);
    if (write(2, text, length) < 0) _exit(99);
    abort();
}

static size_t place(void *at) { return (size_t)(((uintptr_t)at * 0x9E3779B97F4A7C15u) >> 46) & (SLOTS - 1); }

static void insert(Block block) {
    size_t k = place(block.at);
    if (++blocks > SLOTS / 2) die("too many blocks", block.at, block.size);
    while (table[k].at) k = (k + 1) & (SLOTS - 1);
    table[k] = block;
}

static Block *find(void *at) {
    size_t k = place(at);
    while (table[k].at && table[k].at != (char *)at) k = (k + 1) & (SLOTS - 1);
    return table[k].at ? &table[k] : NULL;
}

static void take_out(Block *found) { /* and move what it kept from its place */
    size_t hole = found - table, k = hole;
    blocks--;
    for (;;) {
        table[hole].at = NULL;
        for (;;) {
            k = (k + 1) & (SLOTS - 1);
            if (!table[k].at) return;
            size_t wanted = place(table[k].at);
            if (hole <= k ? (hole < wanted && wanted <= k) : (hole < wanted || wanted <= k)) continue;
            break;
        }
        table[hole] = table[k];
        hole = k;
    }
}

static void *get(size_t size, int fill) {
    if (size > limit) return NULL;
    size_t span = (size + PAGE - 1) & ~(PAGE - 1), align = size & -size;
    if (!span) span = PAGE;
    char *base = mmap(NULL, span + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return NULL;
    if (mprotect(base + PAGE, span, PROT_READ | PROT_WRITE)) { munmap(base, span + 2 * PAGE); return NULL; }
    if (!align || align > 16) align = 16; /* as the size is a number of items, this suits items */
    size_t skip = at_start ? 0 : (span - size) & ~(align - 1);
    Block block = {base + PAGE + skip, base, size, span};
    memset(base + PAGE, SLACK, skip);
    if (fill >= 0) memset(block.at, fill, size);
    memset(block.at + size, SLACK, span - skip - size);
    pthread_mutex_lock(&mutex);
    insert(block);
    pthread_mutex_unlock(&mutex);
    return block.at;
}

static void give_back(void *at) {
    if (!at) return;
    pthread_mutex_lock(&mutex);
    Block *found = find(at);
    if (!found) die("freed that is not allocated (freed twice?)", at, 0);
    Block block = *found;
    take_out(found);
    Block old = freed[turn];
    freed[turn] = block;
    turn = (turn + 1) % QUARANTINE;
    pthread_mutex_unlock(&mutex);
    for (char *p = block.base + PAGE; p < block.at; p++)
        if (*p != (char)SLACK) die("written before its begin", block.at, block.size);
    for (char *p = block.at + block.size; p < block.base + PAGE + block.span; p++)
        if (*p != (char)SLACK) die("written beyond its end", block.at, block.size);
    madvise(block.base + PAGE, block.span, MADV_DONTNEED);
    mprotect(block.base + PAGE, block.span, PROT_NONE);
    if (old.at) munmap(old.base, old.span + 2 * PAGE);
}

/* What NumPy asks of a handler of memory. */
void *guard_malloc(void *context, size_t size) { return get(size, FRESH); }
void guard_free(void *context, void *at, size_t size) { give_back(at); }

void *guard_calloc(void *context, size_t count, size_t each) {
    size_t size;
    return __builtin_mul_overflow(count, each, &size) ? NULL : get(size, -1);
}

void *guard_realloc(void *context, void *at, size_t size) {
    void *made = get(size, FRESH);
    if (!made || !at) return made;
    pthread_mutex_lock(&mutex);
    Block *found = find(at);
    if (!found) die("reallocated that is not allocated", at, size);
    size_t known = found->size;
    pthread_mutex_unlock(&mutex);
    memcpy(made, at, known < size ? known : size);
    give_back(at);
    return made;
}

/* runtime.backends.native.abi.allocator: pairs of address and capacity, and the bytes before the address. */
void *guard_grow(uint64_t *pair, uint64_t need) {
    give_back((void *)(pair[0] - pair[2]));
    void *made = get(need, FRESH);
    pair[0] = (uint64_t)made;
    pair[1] = made ? need : 0;
    pair[2] = 0;
    return made;
}

static uint64_t times(uint64_t size, uint64_t factor) {
    uint64_t most = INT64_MAX;
    return factor && size > most / factor ? most : size * factor;
}

/* With as many more factors of the size as the name says. */
void *guard_reserve0(uint64_t *pair, uint64_t size) {
    uint64_t need = size ? size : 1;
    return pair[1] >= need ? (void *)pair[0] : guard_grow(pair, need);
}

void *guard_reserve1(uint64_t *pair, uint64_t size, uint64_t a) {
    return guard_reserve0(pair, times(size, a));
}

void *guard_reserve2(uint64_t *pair, uint64_t size, uint64_t a, uint64_t b) {
    return guard_reserve1(pair, times(size, a), b);
}

void *guard_reserve3(uint64_t *pair, uint64_t size, uint64_t a, uint64_t b, uint64_t c) {
    return guard_reserve2(pair, times(size, a), b, c);
}

void *guard_reserve4(uint64_t *pair, uint64_t size, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return guard_reserve3(pair, times(size, a), b, c, d);
}

void *guard_retreat(uint64_t *pair, uint64_t need, uint64_t used) {
    if (need > 1 << 14) need *= 2;
    void *made = get(need + used, FRESH);
    if (!made) return NULL;
    memcpy((char *)made + need, (void *)pair[0], used);
    give_back((void *)(pair[0] - pair[2]));
    pair[0] = (uint64_t)made + need;
    pair[1] = used;
    pair[2] = need;
    return made;
}

void *guard_extend(uint64_t *pair, uint64_t need, uint64_t used) {
    if (need > 1 << 14) need *= 2; /* a smaller list has no room to spare: each step moves it */
    void *made = get(need, FRESH);
    if (!made) return NULL;
    memcpy(made, (void *)pair[0], used);
    give_back((void *)(pair[0] - pair[2]));
    pair[0] = (uint64_t)made;
    pair[1] = need;
    pair[2] = 0;
    return made;
}

void guard_release(uint64_t *pairs, uint64_t count) {
    for (uint64_t k = 0; k < count; k++) give_back((void *)(pairs[3 * k] - pairs[3 * k + 2]));
}
