import process from "node:process";
import type { ConnectionOwnerLookup } from "../../core/ports/connection-owner.ts";
import type { ProcessTable } from "../../core/ports/process-table.ts";
import { withTimeout } from "../clock/with-timeout.ts";
import { type AnswerBatch, type CallerAnswer, type CallerQuery, UNKNOWN_CALLER } from "./caller-query.ts";

/** Maximum number of waiting queries. Further queries are answered immediately with an unknown caller. */
const MAX_WAITING = 8_192;

interface WaitingQuery {
  readonly query: CallerQuery;
  readonly resolve: (answer: CallerAnswer) => void;
}

/** Looks up one caller. Never rejects. */
type LookUpCaller = (query: CallerQuery) => Promise<CallerAnswer>;

/**
 * Creates a queue that answers queries in batches, one batch at a time. Queries that arrive while a batch runs form the
 * next one. If a batch rejects, its callers are unknown.
 */
export function createLookupQueue(answerBatch: AnswerBatch, maxWaiting: number = MAX_WAITING): LookUpCaller {
  let waiting: WaitingQuery[] = [];
  let inBatch = 0;
  let running = false;

  async function run(): Promise<void> {
    // All queries of one turn belong to the same batch.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      inBatch = batch.length;
      const answers = await answerBatch(batch.map(({ query }) => query)).catch(() => []);
      for (const [at, { resolve }] of batch.entries()) resolve(answers[at] ?? UNKNOWN_CALLER);
      inBatch = 0;
    }
    running = false;
  }

  return (query) =>
    new Promise((resolve) => {
      if (waiting.length + inBatch >= maxWaiting) return resolve(UNKNOWN_CALLER);
      waiting.push({ query, resolve });
      if (running) return;
      running = true;
      void run();
    });
}

/** Creates a process table on a queue. */
export function createProcessTable(lookUpCaller: LookUpCaller): ProcessTable {
  return {
    async lookup({ clientPort, proxyPort }) {
      const query = { clientAddress: null, clientPort, serverPort: proxyPort, wantsProcess: true };
      return (await lookUpCaller(query)).process;
    },
  };
}

/** Time after which the owner of a connection counts as unknown, in milliseconds. */
const OWNER_TIMEOUT_MS = 1_000;

/** Creates the lookup of owners on a queue. A client that closed its socket before the lookup counts as another user's. */
export function createConnectionOwners(
  lookUpCaller: LookUpCaller,
  ownUid: number | undefined = process.geteuid?.(),
): ConnectionOwnerLookup {
  return {
    async ownerOf(connection) {
      const lookup = lookUpCaller({ ...connection, wantsProcess: false });
      const answer = await withTimeout(lookup, OWNER_TIMEOUT_MS, () => null);
      if (answer === null) return "unknown";
      if (answer.isClosed) return "other";
      return answer.uid === null ? "unknown" : answer.uid === ownUid ? "self" : "other";
    },
  };
}
