import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  type PeriodVerdict,
  type ReachFacts,
  type ReadEndpoint,
  readPeriod,
} from "../../core/privacy/mod.ts";
import { isPlan } from "../../core/values/mod.ts";
import { formatInstant, PROBLEM_MEDIA_TYPE } from "../../core/wire/mod.ts";

/** What the server knows about a workspace. */
export interface Workspace {
  readonly plan: string;
  readonly dataRetentionDays: number;
  readonly auditLogRetentionDays: number;
  /** The times of the requests. */
  readonly requests: readonly number[];
}

/** The rule for each path. */
const ENDPOINTS: Readonly<Record<string, ReadEndpoint>> = {
  "/traces": "traces",
  "/overview": "overview",
};

/** Creates a plain `node:http` server that clamps or rejects every query according to docs/specification.md#retention. */
export function createRetentionServer(workspace: Workspace, now: () => number): Server {
  const { plan } = workspace;
  if (!isPlan(plan)) throw new RangeError(`no such plan: ${plan}`);
  return createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const endpoint = ENDPOINTS[url.pathname];
    if (endpoint === undefined) return problem(response, 404, { code: "not_found" });
    const facts: ReachFacts = { ...workspace, plan, now: now() };
    const texts = { from: url.searchParams.get("from"), to: url.searchParams.get("to") };
    return answer(request, response, readPeriod(endpoint, texts, facts), workspace);
  });
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  verdict: PeriodVerdict,
  { requests }: Workspace,
): void {
  if (request.method !== "GET") return problem(response, 405, { code: "method_not_allowed" });
  if (!verdict.ok) {
    const floor = verdict.reason === "period_before_floor" ? { floor: formatInstant(verdict.floor) } : {};
    return problem(response, 400, { code: verdict.reason, ...floor });
  }
  const { from, to, clampedFrom } = verdict;
  const count = requests.filter((at) => at >= from && at < to).length;
  const clamped_from = clampedFrom === null ? null : formatInstant(clampedFrom);
  response.writeHead(200, { "content-type": "application/json" });
  response.end(
    JSON.stringify({ from: formatInstant(from), to: formatInstant(to), clamped_from, requests: count }),
  );
}

function problem(response: ServerResponse, status: number, details: { code: string; floor?: string }): void {
  response.writeHead(status, { "content-type": PROBLEM_MEDIA_TYPE });
  response.end(JSON.stringify({ type: "about:blank", status, ...details }));
}
