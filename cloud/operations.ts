import type { Sha256 } from "../core/hash.ts";
import { hashText } from "../core/hash-text.ts";
import type { Clock } from "../core/ports/clock.ts";
import { DatabaseError } from "../core/ports/postgres.ts";
import { problem } from "./errors.ts";
import { isMigrated } from "./store/migrate.ts";
import type { CloudDatabase } from "./store/open-database.ts";

/** What answers requests, such as a Hono app. */
export interface FetchApp {
  fetch(request: Request, env: unknown): Response | Promise<Response>;
}

/** What the operator's own addresses need. */
export interface OperationsParts {
  readonly db: CloudDatabase;
  readonly clock: Clock;
  readonly sha256: Sha256;
  /** The metrics' page and its media type. */
  readonly metrics: { readonly mediaType: string; text(): string };
  /** Who reads the metrics with `Authorization: Bearer`; null for programs of this machine alone. */
  readonly metricsToken: string | null;
  /** How many proxies of our own stand before this server. */
  readonly trustedHops: number;
  readonly peerAddress: (env: unknown) => string | null;
}

/** The cloud with the operator's addresses before it. */
export interface Operations extends FetchApp {
  /** From now on `/readyz` says that no more requests should come here. */
  drain(): void;
}

/** How long an answer of `/readyz` serves others who ask, milliseconds: asking is free and must not keep the database busy. */
const READINESS_FRESH_MS = 1_000;

/** After this the database counts as unreachable, milliseconds. */
const READY_WITHIN_MS = 3_000;

/** SQLSTATE of a table that is not there. */
const UNDEFINED_TABLE = "42P01";

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1)$/;

/** Why no requests should come, or null. */
type Unready = "draining" | "database_unreachable" | "not_migrated" | null;

/**
 * Answers `/healthz` (the process answers), `/readyz` (the database is reachable and migrated, and nobody asked to stop)
 * and `/metrics`, and leaves all else to the cloud.
 *
 * Decision: without a token, the metrics are for programs of this machine that come without a proxy in between: a proxy
 * on this machine would make everybody one. Others see 404.
 */
export function withOperations(app: FetchApp, parts: OperationsParts): Operations {
  let draining = false;
  let asked: { readonly at: number; readonly answer: Promise<Unready> } | null = null;

  function readiness(): Promise<Unready> {
    if (draining) return Promise.resolve("draining");
    const now = parts.clock.now();
    // The wall clock may be set back.
    if (asked === null || Math.abs(now - asked.at) >= READINESS_FRESH_MS) {
      asked = { at: now, answer: askDatabase(parts) };
    }
    return asked.answer;
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

function askDatabase({ db, clock }: OperationsParts): Promise<Unready> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(READY_WITHIN_MS, () => resolve("database_unreachable"));
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
  // Hashes, so that the time that the comparison takes says nothing of the token.
  return hashText(given, parts.sha256) === hashText(parts.metricsToken, parts.sha256);
}
