import type { LimitEvent } from "../../core/metering/limits/limit-events.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { BudgetNotice } from "../budgets/budget-notice.ts";
import { budgetNoticeFields } from "../budgets/notice-text.ts";
import { limitEventFields } from "../limits/limit-event-fields.ts";
import type { RecordFeed } from "./record-feed.ts";
import { requestJson } from "./request-json.ts";

/** How often a comment is sent, in milliseconds, so that both ends notice a dead connection. */
export const HEARTBEAT_MS = 15_000;

/** How many events may wait for a slow reader before it is disconnected. It reconnects and resumes where it was. */
const MAX_WAITING_EVENTS = 256;

/** How long a browser waits before it reconnects, in milliseconds. */
const RETRY_MS = 3_000;

const encoder = new TextEncoder();

/** Formats a server-sent event. JSON has no line breaks, so the data is one line. */
function eventText(record: RequestRecord): string {
  return `id: ${record.requestId}\nevent: request\ndata: ${JSON.stringify(requestJson(record))}\n\n`;
}

/** Formats an event without an ID: one that was missed is not sent again, because the limits show it. */
const limitText = (event: LimitEvent): string =>
  `event: ${event.name}\ndata: ${JSON.stringify(limitEventFields(event))}\n\n`;

const budgetText = (notice: BudgetNotice): string =>
  `event: ${notice.event}\ndata: ${JSON.stringify(budgetNoticeFields(notice))}\n\n`;

/**
 * Opens a stream of the missed records, followed by new ones. Returns null if there are too many readers. The stream ends
 * when the reader disconnects or falls behind, or when the feed closes.
 */
export function openEventStream(
  feed: RecordFeed,
  missed: readonly RequestRecord[],
  clock: Pick<Clock, "setTimer">,
): ReadableStream<Uint8Array> | null {
  let end = () => {};
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let over = false;
  let cancelBeat = () => {};
  const leave = () => {
    over = true;
    cancelBeat();
    end();
  };
  const finish = () => {
    if (over) return;
    leave();
    controller?.close();
  };
  const send = (text: string) => {
    if (over || controller === null) return;
    if ((controller.desiredSize ?? 0) <= 0) finish();
    else controller.enqueue(encoder.encode(text));
  };
  const beat = () => {
    send(": still here\n\n");
    if (!over) cancelBeat = clock.setTimer(HEARTBEAT_MS, beat);
  };
  const stop = feed.listen({
    record: (record) => send(eventText(record)),
    limit: (event) => send(limitText(event)),
    budget: (notice) => send(budgetText(notice)),
    ended: finish,
  });
  if (stop === null) return null;
  end = stop;
  return new ReadableStream<Uint8Array>(
    {
      start(opened) {
        controller = opened;
        send(`retry: ${RETRY_MS}\n\n`);
        for (const record of missed) send(eventText(record));
        if (!over) cancelBeat = clock.setTimer(HEARTBEAT_MS, beat);
      },
      cancel: leave,
    },
    new CountQueuingStrategy({ highWaterMark: MAX_WAITING_EVENTS }),
  );
}
