#include "almanac.h"

bool is_leap_year(int year)
{
    return year % 4 == 0;
}

int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12)
        return 0;
    return days[month - 1] + (month == 2 && is_leap_year(year) ? 1 : 0);
}

int day_of_year(int year, int month, int day)
{
    int days = day;
    for (int m = 1; m < month; m++)
        days += days_in_month(year, m);
    return days;
}

/* Sakamoto's method. */
int day_of_week(int year, int month, int day)
{
    static const int shift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
    if (month < 2)
        year--;
    return (year + year / 4 - year / 100 + year / 400 + shift[month - 1] + day) % 7;
}
