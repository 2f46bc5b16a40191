import { createSessionTracker } from "../core/metering/sessions/session-tracker.ts";
import { errorName } from "../core/values/text/describe-error.ts";
import { uuidV7 } from "../core/values/uuid.ts";
import { createMeteredCounters, type MeteredCounters } from "./api/metrics.ts";
import { createRecordFeed, type RecordFeed } from "./api/record-feed.ts";
import { type BudgetTracker, createBudgetTracker } from "./budgets/budget-tracker.ts";
import { createHeldCalls, type HeldCalls } from "./budgets/held-calls.ts";
import { budgetNoticeFields } from "./budgets/notice-text.ts";
import { type Capture, createCapture } from "./capture/capture.ts";
import { createProjectSettings } from "./capture/project-settings.ts";
import type { DaemonConfig, DaemonPorts } from "./daemon.ts";
import { limitEventFields } from "./limits/limit-event-fields.ts";
import { createLimitTracker, type LimitTracker } from "./limits/limit-tracker.ts";
import { tapClock } from "./proxy/tap-clock.ts";
import { createRecordWriter, type RecordWriter, type RecordWriterEvent } from "./store/record-writer.ts";

/** The path of a call from the tap log to the store, with the counters and the feed that receive each record. */
export interface Pipeline {
  readonly capture: Capture;
  readonly writer: RecordWriter;
  readonly counters: MeteredCounters;
  readonly feed: RecordFeed;
  readonly limits: LimitTracker;
  readonly budgets: BudgetTracker;
  readonly heldCalls: HeldCalls;
}

/** Creates capture and the writer, which also counts each stored record and publishes it to the feed. */
export function createPipeline(ports: DaemonPorts, config: DaemonConfig): Pipeline {
  const feed = createRecordFeed();
  const counters = createMeteredCounters();
  const budgets = createPipelineBudgets(ports, config, feed);
  const sessions = createSessionTracker();
  const heldCalls = createHeldCalls({
    ...ports,
    budgets,
    place: config.budgets?.place ?? {},
    sessions: {
      resolve: sessions.resolve,
      begin(process) {
        const startedAt = ports.now();
        return sessions.begin({ process, startedAt }, () => uuidV7(startedAt, ports.randomBytes(10)));
      },
    },
  });
  const writer = createFeedingWriter(ports, { budgets, heldCalls, counters, feed });
  const limits = createPipelineTracker(ports, feed);
  const projects = createProjectSettings(ports.store.settings, tapClock);
  const capture = createCapture({
    ...ports,
    limits,
    heldCalls,
    sessions,
    wallClockMs: ports.now,
    monotonicMs: tapClock,
    records: writer,
    findStoredResponse: ports.store.records.findStoredResponse,
    bodies: {
      isEnabledAnywhere: projects.anyBodyCapture,
      isEnabledFor: projects.bodyCapture,
      maxBytes: config.maxBodyBytes,
      redact: ports.redact,
      add: writer.addBody,
    },
    coverage: {
      count(host, kind, call) {
        counters.addCoverage(kind);
        writer.count(kind, host, call);
      },
      begin: writer.begin,
    },
  });
  return { capture, writer, counters, feed, limits, budgets, heldCalls };
}

function createFeedingWriter(
  ports: DaemonPorts,
  { budgets, heldCalls, counters, feed }: Pick<Pipeline, "budgets" | "heldCalls" | "counters" | "feed">,
): RecordWriter {
  return createRecordWriter({
    store: {
      insertBatch(batch) {
        budgets.store(batch, (onExisting) => ports.store.insertBatch(batch, onExisting));
        // A record is counted once its project is final.
        const final = batch.records.filter(({ attributionDueAt }) => attributionDueAt === undefined);
        const attributed = [...final, ...(batch.attributed ?? [])];
        counters.addRecords(attributed);
        feed.publish(attributed);
        heldCalls.stored(batch.records);
      },
    },
    atTurnEnd: ports.atTurnEnd,
    later: ports.later,
    now: ports.now,
    onEvent: (event) => logWriterEvent(ports, event),
  });
}

function logWriterEvent({ log }: DaemonPorts, event: RecordWriterEvent): void {
  if (event.kind === "recovered")
    log.info("store.recovered", { pending: event.pending, dropped: event.dropped });
  else log.error(`store.${event.kind}`, { reason: event.reason });
}

function createPipelineTracker({ store, clock, log, webhooks }: DaemonPorts, feed: RecordFeed): LimitTracker {
  return createLimitTracker({
    store,
    clock,
    onEvent(event) {
      const isUrgent = event.name === "limit.warning";
      log[isUrgent ? "warn" : "info"](event.name, limitEventFields(event));
      feed.publishLimit(event);
      webhooks?.addLimitEvent(event);
    },
    onFailure: (cause) => log.error("daemon.task_crashed", { task: "limits", error: errorName(cause) }),
  });
}

function createPipelineBudgets(ports: DaemonPorts, config: DaemonConfig, feed: RecordFeed): BudgetTracker {
  const { store, clock, log, webhooks, notify } = ports;
  const onFailure = (cause: unknown) =>
    log.error("daemon.task_crashed", { task: "budgets", error: errorName(cause) });
  return createBudgetTracker({
    store,
    clock,
    configured: config.budgets?.configured ?? [],
    place: config.budgets?.place ?? {},
    onNotice(notice) {
      const isUrgent = notice.event !== "budget.lifted" && notice.event !== "budget.lift_ended";
      log[isUrgent ? "warn" : "info"](notice.event, budgetNoticeFields(notice));
      feed.publishBudget(notice);
      webhooks?.addBudgetNotice(notice);
      try {
        notify?.(notice);
      } catch (cause) {
        onFailure(cause);
      }
    },
    onCut: (budget) => log.warn("budget.cut", { budget }),
    onFailure,
  });
}
