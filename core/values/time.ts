/** Milliseconds since the epoch, UTC. */
export type Millis = number;

/** A date without a time, `YYYY-MM-DD`, in UTC unless stated otherwise. */
export type CalendarDate = string;
