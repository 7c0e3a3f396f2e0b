#include "almanac.h"

#include <stdlib.h>

bool intervals_overlap(interval a, interval b)
{
    return a.start <= b.end && b.start <= a.end;
}

static int by_start(const void *left, const void *right)
{
    const interval *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

size_t merge_intervals(interval *all, size_t count)
{
    if (count == 0)
        return 0;
    qsort(all, count, sizeof *all, by_start);
    size_t last = 0;
    for (size_t i = 1; i < count; i++) {
        if (all[i].start <= all[last].end) {
            all[last].end = all[i].end;
        } else {
            all[++last] = all[i];
        }
    }
    return last + 1;
}

int total_minutes(const interval *all, size_t count)
{
    int total = 0;
    for (size_t i = 0; i < count; i++)
        total += all[i].end - all[i].start;
    return total;
}
