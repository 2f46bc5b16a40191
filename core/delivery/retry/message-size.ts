/** How many messages it takes to grow from one record to the most. A growth that was too large costs one refused message. */
const GROWTH_STEPS = 40;

/** Returns how many records the next message may have after one was too large: half as many, at least 1. */
export const halveMessage = (records: number): number => Math.max(1, Math.floor(records / 2));

/** Returns how many records the next message may have after a full one was delivered. */
export const growMessage = (limit: number, max: number): number =>
  Math.min(max, limit + Math.ceil(max / GROWTH_STEPS));
