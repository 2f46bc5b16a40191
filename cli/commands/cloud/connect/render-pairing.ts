import { renderUnicodeCompact } from "uqr";
import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";
import type { Millis } from "../../../../core/values/time.ts";
import { printable } from "../../../render/printable.ts";

/** Renders how to approve this machine: the link, the code to compare, and on a wide terminal a QR code of the link. */
export function renderPairingCode(
  code: string,
  link: string,
  terminal: { width: number; isTerminal: boolean },
): string {
  const lines = [
    "Approve this machine in a browser:",
    "",
    `  ${printable(link)}`,
    `  code  ${printable(code)}`,
  ];
  if (terminal.isTerminal && /^https?:\/\//.test(link)) {
    // A margin of two modules, which scanners need to find the code.
    const qr = renderUnicodeCompact(link, { border: 2 }).split("\n");
    if (Math.max(...qr.map((line) => line.length)) + 2 <= terminal.width)
      lines.push("", ...qr.map((line) => `  ${line}`));
  }
  return lines.join("\n");
}

/** Describes what happens to requests metered before the first connection; null if there are none. */
export function renderHistory(pending: number, oldestAt: Millis | null, fromNow: boolean): string | null {
  if (pending === 0 || oldestAt === null) return null;
  const requests = formatQuantity(pending, "older request");
  const since = new Date(oldestAt).toISOString().slice(0, 10);
  return fromNow
    ? `${requests} (since ${since}) ${pending === 1 ? "stays" : "stay"} on this machine.`
    : `${requests} (since ${since}) will be sent too. To keep ${pending === 1 ? "it" : "them"} here, use --from-now.`;
}
