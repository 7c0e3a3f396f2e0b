#include "almanac.h"

#include <ctype.h>
#include <stdio.h>

void format_duration(int minutes, char *buffer, size_t size)
{
    if (minutes < 60)
        snprintf(buffer, size, "%dm", minutes);
    else
        snprintf(buffer, size, "%dh%dm", minutes / 60, minutes % 60);
}

int parse_duration(const char *text)
{
    int total = 0, number = 0;
    bool digits = false, units = false;
    for (; *text != '\0'; text++) {
        if (isdigit((unsigned char)*text)) {
            number = number * 10 + (*text - '0');
            digits = true;
        } else if (digits && (*text == 'h' || *text == 'm')) {
            total += *text == 'h' ? number * 60 : number;
            number = 0;
            digits = false;
            units = true;
        } else {
            return -1;
        }
    }
    return units && !digits ? total : -1;
}
