import type { OutboxItem } from "../../core/ports/outbox.ts";
import type { CloudServicePorts } from "./ports.ts";

/**
 * Writes down what is about to leave this machine; false where that can't be done, and a person is told.
 *
 * Decision: nothing leaves that could not be written down first.
 */
export async function noteSent(
  { outbox, clock, notice }: Pick<CloudServicePorts, "outbox" | "clock" | "notice">,
  item: Omit<OutboxItem, "at">,
): Promise<boolean> {
  try {
    await outbox.append({ ...item, at: clock.now() });
    return true;
  } catch {
    notice("the outbox can't be written, so nothing is sent");
    return false;
  }
}
