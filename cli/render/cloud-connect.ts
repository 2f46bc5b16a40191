import { renderUnicodeCompact } from "uqr";
import type { Millis } from "../../core/time.ts";
import { count } from "./count.ts";
import { printable } from "./printable.ts";

/** How to approve a machine: the link, the code to compare, and where it fits a terminal the link as a QR code. */
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
    // Two modules of margin: a scanner loses a code that touches what is around it.
    const qr = renderUnicodeCompact(link, { border: 2 }).split("\n");
    if (Math.max(...qr.map((line) => line.length)) + 2 <= terminal.width)
      lines.push("", ...qr.map((line) => `  ${line}`));
  }
  return lines.join("\n");
}

/** What becomes of what was metered before the first connection; null where there is nothing. */
export function renderHistory(pending: number, oldestAt: Millis | null, fromNow: boolean): string | null {
  if (pending === 0 || oldestAt === null) return null;
  const requests = pending === 1 ? "older request" : "older requests";
  const since = new Date(oldestAt).toISOString().slice(0, 10);
  return fromNow
    ? `${count(pending)} ${requests}, from ${since} on, ${pending === 1 ? "stays" : "stay"} on this machine.`
    : `${count(pending)} ${requests}, from ${since} on, will be sent too; --from-now keeps them here.`;
}
