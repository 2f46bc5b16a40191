import type { Clock } from "../core/ports/clock.ts";
import type { RandomBytes } from "../core/ports/random.ts";
import { uuidV7 } from "../core/values/uuid.ts";

/** Creates an id: a UUIDv7 with the current time. */
export function newId({
  clock,
  randomBytes,
}: {
  readonly clock: Pick<Clock, "now">;
  readonly randomBytes: RandomBytes;
}): string {
  return uuidV7(clock.now(), randomBytes(10));
}
