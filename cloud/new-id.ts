import { uuidV7 } from "../core/uuid.ts";
import type { CloudPorts } from "./ports.ts";

/** A new id, of the present moment. */
export function newId({ clock, randomBytes }: Pick<CloudPorts, "clock" | "randomBytes">): string {
  return uuidV7(clock.now(), randomBytes(10));
}
