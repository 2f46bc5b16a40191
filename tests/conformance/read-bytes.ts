import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { classifyError } from "../../core/metering/classify/classify-error.ts";
import { createExchangeReader } from "../../core/metering/exchange/exchange-reader.ts";
import { headerValue, type ResponseHead } from "../../core/metering/exchange/head.ts";
import { readWebSocketExtensions } from "../../core/metering/exchange/websocket-extensions.ts";
import { createWebSocketReader } from "../../core/metering/exchange/websocket-reader.ts";
import { createMessageUsageReader } from "../../core/metering/usage/message-usage-reader.ts";
import { readRequest } from "../../core/metering/usage/read-request.ts";
import { createRegistry } from "../../core/metering/usage/registry.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import { createUsageReader, type UsageReader } from "../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import { priceUsage } from "../../core/pricing/price-usage.ts";
import type { ExpectedCase } from "./case-format.ts";
import { prices, type Split, unsplit } from "./run-case.ts";

const registry = createRegistry();

/** Returns the route of the request whose head starts the bytes; null if it is not metered. */
export function routeOf(request: Uint8Array, { host, port }: ExpectedCase["address"]): MeteredRoute | null {
  const [method = "", path = ""] = new TextDecoder().decode(request.subarray(0, 2048)).split(" ", 2);
  const match = registry.match({ host, port, method, path });
  return match.kind === "metered" ? match : null;
}

/** Reads a decoded body with one usage reader. */
export function readBody(
  route: MeteredRoute,
  status: number,
  body: Uint8Array,
  complete: boolean,
  cut: Split = unsplit,
): UsageReport {
  const reader = createUsageReader(route, { status, contentType: null, streaming: null, header: () => null });
  for (const piece of cut(body)) reader.push(piece);
  return reader.end(complete);
}

/** The observed parts of one exchange; bodies are not decoded. */
interface OpenExchange {
  route: MeteredRoute | null;
  request: Uint8Array[];
  response: { head: ResponseHead; reader: UsageReader | null } | null;
}

/**
 * Reads both directions of a connection with all pure parts except content decoding, and returns everything that
 * they reported, for comparison by a fuzzer.
 */
export function readConnection(
  address: ExpectedCase["address"],
  request: Uint8Array,
  response: Uint8Array,
  cut: Split = unsplit,
): unknown[] {
  const events: unknown[] = [];
  const open = new Map<number, OpenExchange>();
  let sockets: ReturnType<typeof createFrameReaders> | null = null;
  const reader = createExchangeReader({
    requestHead(id, head) {
      const match = registry.match({ ...address, method: head.method, path: head.target });
      open.set(id, { route: match.kind === "metered" ? match : null, request: [], response: null });
      events.push([id, match, head]);
    },
    requestBody: (id, bytes) => open.get(id)?.request.push(bytes.slice()),
    requestEnd(id) {
      const seen = open.get(id);
      const body = new Uint8Array(Buffer.concat(seen?.request ?? []));
      if (seen?.route) events.push([id, readRequest(seen.route, body)]);
      else events.push([id, body.length]);
    },
    informational: (id, head) => events.push([id, "informational", head]),
    responseHead(id, head) {
      const seen = open.get(id);
      events.push([id, head]);
      if (seen === undefined) return;
      const context = {
        status: head.status,
        contentType: headerValue(head.headers, "content-type"),
        streaming: null,
        header: (name: string) => headerValue(head.headers, name),
      };
      const usage = seen.route === null ? null : createUsageReader(seen.route, context);
      seen.response = { head, reader: usage };
    },
    responseBody: (id, bytes) => open.get(id)?.response?.reader?.push(bytes),
    responseEnd(id, complete) {
      const { route, response: answer } = open.get(id) ?? { route: null, response: null };
      open.delete(id);
      events.push([id, "end", complete]);
      if (route === null || !answer?.reader) return;
      const report = answer.reader.end(complete);
      events.push(report, classifyError(route.provider, outcome(answer.head.status, report, complete)));
      events.push(price(route, report));
    },
    upgraded(id) {
      const { route, response: answer } = open.get(id) ?? { route: null, response: null };
      events.push([id, "upgraded"]);
      if (route?.webSocket === true && answer !== null)
        sockets = createFrameReaders(route, answer.head, events);
    },
    upgradedBytes: (direction, bytes) => sockets?.[direction].push(bytes, 0),
    unreadable: (reason) => events.push(["unreadable", reason]),
  });
  for (const piece of cut(request)) reader.push("request", piece, 0);
  for (const piece of cut(response)) reader.push("response", piece, 0);
  reader.end("response", 0);
  reader.end("request", 0);
  return events;
}

/** Readers of both directions of a WebSocket, or null if an unknown extension was negotiated. */
function createFrameReaders(route: MeteredRoute, head: ResponseHead, said: unknown[]) {
  const agreement = readWebSocketExtensions(head.headers);
  if (agreement.kind === "unknown") return null;
  const usage = createMessageUsageReader(route);
  const readerOf = (sender: "client" | "server", contextTakeover: boolean) =>
    createWebSocketReader(
      {
        message({ kind, bytes }) {
          said.push([sender, kind, bytes.length, sender === "server" ? usage.read(bytes) : null]);
        },
        closed: (code) => said.push([sender, "closed", code]),
        unreadable: (reason) => said.push([sender, reason]),
      },
      {
        sender,
        deflate:
          agreement.kind === "plain"
            ? null
            : {
                contextTakeover,
                inflater: createZlibMessageInflater({ contextTakeover, maxBytes: 1024 * 1024 }),
              },
      },
    );
  const shared =
    agreement.kind === "deflate" ? agreement : { clientContextTakeover: false, serverContextTakeover: false };
  return {
    request: readerOf("client", shared.clientContextTakeover),
    response: readerOf("server", shared.serverContextTakeover),
  };
}

const outcome = (status: number, { error }: UsageReport, complete: boolean) =>
  ({ kind: "answered", status, error, complete }) as const;

function price(route: MeteredRoute, report: UsageReport) {
  return priceUsage(
    {
      provider: route.provider,
      model: report.model ?? "unknown",
      requestedModel: route.model,
      at: 1_795_262_400_000,
      tokens: report.tokens,
      extras: report.extras,
      serviceTier: report.serviceTier,
      providerCostPicoUsd: report.providerCostPicoUsd,
      requestKind: route.requestKind,
    },
    prices,
  );
}
