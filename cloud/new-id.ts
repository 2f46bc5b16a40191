import { uuidV7 } from "../core/values/uuid.ts";
import type { CloudPorts } from "./ports.ts";

/** Creates an id: a UUIDv7 with the current time. */
export function newId({ clock, randomBytes }: Pick<CloudPorts, "clock" | "randomBytes">): string {
  return uuidV7(clock.now(), randomBytes(10));
}
