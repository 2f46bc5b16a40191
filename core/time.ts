/** Milliseconds since the epoch, UTC. */
export type Millis = number;

/** A date without time, `YYYY-MM-DD`, in the calendar that the context names (UTC unless said otherwise). */
export type CalendarDate = string;
