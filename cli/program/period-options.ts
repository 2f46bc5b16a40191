/** Help texts of `--since`, `--from` and `--to`, which several commands take. `readPeriod()` reads their values. */
export const SINCE = "Start this long ago (24h, 7d), or at today, yesterday or a date";
export const FROM = "The first day, or the start time (ISO 8601)";
export const TO = "The last day, or the end time (ISO 8601, exclusive)";
