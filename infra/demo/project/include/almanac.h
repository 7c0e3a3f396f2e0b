#ifndef ALMANAC_H
#define ALMANAC_H

#include <stdbool.h>
#include <stddef.h>

/* Dates of the Gregorian calendar; months and days count from 1. */
bool is_leap_year(int year);
int days_in_month(int year, int month);
int day_of_year(int year, int month, int day);
int day_of_week(int year, int month, int day); /* 0 is Sunday */

/* From the minute `start` to the minute before `end`. */
typedef struct {
    int start;
    int end;
} interval;

bool intervals_overlap(interval a, interval b);
/* Sorts, joins what overlaps or touches, and returns how many are left. */
size_t merge_intervals(interval *all, size_t count);
int total_minutes(const interval *all, size_t count);

/* "2h05m", "45m"; the buffer must hold 16 bytes. */
void format_duration(int minutes, char *buffer, size_t size);
/* -1 for text that is no duration. */
int parse_duration(const char *text);

#endif
