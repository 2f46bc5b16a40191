import { html } from "hono/html";
import type { Millis } from "../../core/values/time.ts";
import type { Html } from "../../pages/html.ts";

/** Renders a time in this machine's time zone. The date is omitted for today, unless `withDay` is set. */
export function renderTime(at: Millis, withDay = false): Html {
  const date = new Date(at);
  const isToday = !withDay && date.toDateString() === new Date().toDateString();
  const text = new Intl.DateTimeFormat("en-GB", {
    ...(!isToday && { day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(at);
  return html`<time datetime="${date.toISOString()}">${text}</time>`;
}
