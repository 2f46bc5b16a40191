import type { WebhookEvent } from "../../core/delivery/webhook/webhook.ts";
import type { LimitEvent } from "../../core/metering/limits/limit-events.ts";
import type { ConfiguredWebhook } from "../../core/operations/config/config.ts";
import type { BudgetNotice } from "../budgets/budget-notice.ts";
import { budgetNoticeFields } from "../budgets/notice-text.ts";
import { limitEventFields } from "../limits/limit-event-fields.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import { createEventQueue } from "./event-queue.ts";
import type { WebhookPorts } from "./webhook-ports.ts";
import { createWebhookWorker, type WebhookStatus } from "./webhook-worker.ts";

/** Sends records and events to the configured webhooks, each at least once and in order. */
export interface WebhookService {
  /** Begins to send, once the database is open. */
  start(): void;
  /** Keeps an event until it is delivered. Never throws. */
  addLimitEvent(event: LimitEvent): void;
  /** Keeps an event of a budget until it is delivered. Never throws. */
  addBudgetNotice(notice: BudgetNotice): void;
  status(): readonly WebhookStatus[];
  /** Ends requests in progress; what they sent is sent again after the next start. */
  stop(): Promise<void>;
}

/** Creates the service for webhooks. */
export function createWebhookService(
  ports: WebhookPorts,
  webhooks: readonly ConfiguredWebhook[],
): WebhookService {
  const queue = createEventQueue(ports);
  const workers = webhooks.map((webhook) => createWebhookWorker(ports, webhook, queue));
  const add = (type: WebhookEvent, data: unknown) => {
    if (!webhooks.some(({ events }) => events.includes(type))) return;
    try {
      queue.add({ type, at: ports.clock.now(), data });
    } catch (cause) {
      logTaskCrash(ports.log, "webhooks", cause);
    }
  };
  return {
    start() {
      for (const worker of workers) worker.start();
    },
    addLimitEvent: (event) => add(event.name, limitEventFields(event)),
    addBudgetNotice: (notice) => add(notice.event, budgetNoticeFields(notice)),
    status: () => workers.map((worker) => worker.status()),
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
  };
}
