import type { OutboxItem } from "../../core/ports/outbox.ts";
import type { CloudServicePorts } from "./ports.ts";

/**
 * Records in the outbox what is about to be sent. If that fails, notifies the user and returns false.
 *
 * Decision: data that could not be recorded is not sent.
 */
export async function recordInOutbox(
  { outbox, clock, notice }: Pick<CloudServicePorts, "outbox" | "clock" | "notice">,
  item: Omit<OutboxItem, "at">,
): Promise<boolean> {
  try {
    await outbox.append({ ...item, at: clock.now() });
    return true;
  } catch {
    notice("The outbox can't be written, so nothing is sent. Free disk space or check its permissions.");
    return false;
  }
}
