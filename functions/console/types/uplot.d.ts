// The chart library is loaded by a script element of its own, and is a global.

import "uplot";
