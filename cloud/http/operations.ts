import type { Clock } from "../../core/ports/clock.ts";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import { hashText } from "../../core/values/hash-text.ts";
import { isMigrated } from "../store/migrate.ts";
import type { CloudDatabase } from "../store/open-database.ts";
import { problem } from "./problem.ts";

/** A request handler, such as a Hono app. */
export interface FetchApp {
  fetch(request: Request, env: unknown): Response | Promise<Response>;
}

/** The dependencies of the operator's endpoints. */
export interface OperationsParts {
  readonly db: CloudDatabase;
  readonly clock: Clock;
  readonly sha256: Sha256;
  /** The metrics as text, and their media type. */
  readonly metrics: { readonly mediaType: string; text(): string };
  /** The bearer token for reading the metrics; null to allow only programs on this machine. */
  readonly metricsToken: string | null;
  /** How many trusted proxies are in front of this server. */
  readonly trustedHops: number;
  readonly peerAddress: (env: unknown) => string | null;
}

/** The cloud with the operator's endpoints. */
export interface Operations extends FetchApp {
  /** Makes `/readyz` answer 503 from now on, so that a load balancer sends no more requests. */
  drain(): void;
}

/** How long the result of a readiness check is reused, milliseconds: anyone may call `/readyz`, and it must not load the database. */
const READINESS_TTL_MS = 1_000;

/** How long to wait for the database before it counts as unreachable, milliseconds. */
const DATABASE_TIMEOUT_MS = 3_000;

/** SQLSTATE of a missing table. */
const UNDEFINED_TABLE = "42P01";

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1)$/;

/** Why the server is not ready; null if it is. */
type Unready = "draining" | "database_unreachable" | "not_migrated" | null;

/**
 * Answers `/healthz` (the process is alive), `/readyz` (the database is reachable and migrated, and the server is not
 * draining) and `/metrics`, and passes every other request to the cloud.
 *
 * Decision: without a token, only programs on this machine that connect directly can read the metrics: behind a local proxy,
 * every client would look local. Others get 404.
 */
export function withOperations(app: FetchApp, parts: OperationsParts): Operations {
  let draining = false;
  let lastCheck: { readonly at: number; readonly answer: Promise<Unready> } | null = null;

  function readiness(): Promise<Unready> {
    if (draining) return Promise.resolve("draining");
    const now = parts.clock.now();
    // The absolute difference, since the wall clock may be set back.
    if (lastCheck === null || Math.abs(now - lastCheck.at) >= READINESS_TTL_MS) {
      lastCheck = { at: now, answer: checkDatabase(parts) };
    }
    return lastCheck.answer;
  }

  async function readyz(): Promise<Response> {
    const unready = await readiness();
    const headers = { "cache-control": "no-store", ...(unready === null ? {} : { "retry-after": "5" }) };
    return Response.json({ status: unready ?? "ready" }, { status: unready === null ? 200 : 503, headers });
  }

  function metrics(request: Request, env: unknown): Response {
    if (!mayReadMetrics(request, env, parts)) return problem("not_found");
    const headers = { "content-type": parts.metrics.mediaType, "cache-control": "no-store" };
    return new Response(parts.metrics.text(), { headers });
  }

  return {
    drain: () => {
      draining = true;
    },
    fetch(request, env) {
      const path = request.method === "GET" || request.method === "HEAD" ? new URL(request.url).pathname : "";
      if (path === "/healthz")
        return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
      if (path === "/readyz") return readyz();
      if (path === "/metrics") return metrics(request, env);
      return app.fetch(request, env);
    },
  };
}

function checkDatabase({ db, clock }: OperationsParts): Promise<Unready> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(DATABASE_TIMEOUT_MS, () => resolve("database_unreachable"));
    isMigrated(db)
      .then(
        (migrated): Unready => (migrated ? null : "not_migrated"),
        (error): Unready =>
          error instanceof DatabaseError && error.code === UNDEFINED_TABLE
            ? "not_migrated"
            : "database_unreachable",
      )
      .then((unready) => {
        cancel();
        resolve(unready);
      });
  });
}

function mayReadMetrics(request: Request, env: unknown, parts: OperationsParts): boolean {
  if (parts.metricsToken === null) {
    const direct =
      parts.trustedHops === 0 && !request.headers.has("x-forwarded-for") && !request.headers.has("forwarded");
    return direct && LOOPBACK.test(parts.peerAddress(env) ?? "");
  }
  const [, given = ""] = /^bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  // Compares hashes, so that the comparison's timing reveals nothing about the token.
  return hashText(given, parts.sha256) === hashText(parts.metricsToken, parts.sha256);
}
