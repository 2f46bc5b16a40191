/** Milliseconds since the epoch, UTC. */
export type Millis = number;

/** A date without a time, `YYYY-MM-DD`, in UTC unless stated otherwise. */
export type CalendarDate = string;

/** The milliseconds of a minute. */
export const MINUTE_MS = 60_000;

/** The milliseconds of an hour. */
export const HOUR_MS = 3_600_000;

/** The milliseconds of a day of 24 hours. A day of a time zone may be longer or shorter. */
export const DAY_MS = 86_400_000;
