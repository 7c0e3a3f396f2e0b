#include "almanac.h"

#include <stdio.h>
#include <string.h>

static int ran, failed;

static void check(const char *test, long wanted, long got)
{
    ran++;
    if (wanted != got) {
        failed++;
        printf("FAIL %s: wanted %ld, got %ld\n", test, wanted, got);
    }
}

static void check_text(const char *test, const char *wanted, const char *got)
{
    ran++;
    if (strcmp(wanted, got) != 0) {
        failed++;
        printf("FAIL %s: wanted \"%s\", got \"%s\"\n", test, wanted, got);
    }
}

static void dates(void)
{
    check("every_fourth_year_is_a_leap_year", 1, is_leap_year(2024));
    check("a_century_is_no_leap_year", 0, is_leap_year(1900));
    check("every_fourth_century_is_a_leap_year", 1, is_leap_year(2000));
    check("a_leap_year_has_366_days", 366, day_of_year(2024, 12, 31));
    check("a_date_in_march_has_its_weekday", 5, day_of_week(2024, 3, 1));
    check("a_date_in_february_has_its_weekday", 4, day_of_week(2024, 2, 29));
}

static void intervals(void)
{
    interval morning = {540, 600}, noon = {600, 660};
    interval day[] = {{700, 720}, {540, 600}, {600, 660}};
    interval nested[] = {{540, 720}, {600, 630}};
    check("appointments_that_touch_do_not_overlap", 0, intervals_overlap(morning, noon));
    check("appointments_that_touch_are_merged", 2, (long)merge_intervals(day, 3));
    merge_intervals(nested, 2);
    check("an_appointment_within_another_adds_nothing", 180, total_minutes(nested, 1));
}

static void durations(void)
{
    char text[16];
    format_duration(45, text, sizeof text);
    check_text("less_than_an_hour_is_in_minutes", "45m", text);
    format_duration(125, text, sizeof text);
    check_text("minutes_after_hours_have_two_digits", "2h05m", text);
    check("a_duration_reads_back", 125, parse_duration("2h05m"));
    check("a_number_without_a_unit_is_no_duration", -1, parse_duration("90"));
}

int main(void)
{
    dates();
    intervals();
    durations();
    printf("%d of %d tests passed\n", ran - failed, ran);
    return failed == 0 ? 0 : 1;
}
