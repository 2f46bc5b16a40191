import { randomBytes } from "node:crypto";
import {
  createRegistry,
  createUsageReader,
  type ExtraHost,
  type MeteredRoute,
  readRequest,
  type UsageReport,
} from "../../core/metering/mod.ts";
import {
  createPriceBook,
  loadBundledRates,
  type PriceBook,
  type PricedUsage,
  priceUsage,
} from "../../core/pricing/mod.ts";
import { uuidV7 } from "../../core/values/mod.ts";

/** A call to a provider, with its usage and cost. */
export interface MeteredCall {
  readonly callId: string;
  readonly provider: string;
  readonly model: string;
  readonly status: number;
  readonly usage: UsageReport;
  readonly price: PricedUsage;
}

/** Options of the wrapper. */
interface MeteredFetchOptions {
  readonly fetch: typeof fetch;
  /** Called once for each metered call, when its response was read to the end or cancelled. */
  readonly onCall: (call: MeteredCall) => void;
  /** Your own hosts with a provider's API. */
  readonly hosts?: readonly ExtraHost[];
}

/**
 * Wraps `fetch`. Calls to providers are metered in this process; all others are unchanged. The response reaches the caller
 * without delay, because the usage reader only inspects each chunk.
 */
export function createMeteredFetch(options: MeteredFetchOptions): typeof fetch {
  const registry = createRegistry(options.hosts);
  const book = createPriceBook(loadBundledRates());

  return async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const route = registry.match({
      host: url.hostname,
      port: Number(url.port || (url.protocol === "https:" ? 443 : 80)),
      method: request.method,
      path: url.pathname,
    });
    if (route.kind !== "metered") return options.fetch(request);

    const body = new Uint8Array(await request.clone().arrayBuffer());
    const facts = readRequest(route, body);
    const requestedAt = Date.now();
    const response = await options.fetch(request);
    const report = (usage: UsageReport) =>
      options.onCall(toCall(book, route, facts.requestedModel, requestedAt, response.status, usage));
    return meterBody(response, route, facts.streaming, report);
  };
}

/**
 * Returns the same response with a body that is also read by the usage reader. `fetch` has already decoded any content
 * encoding.
 */
function meterBody(
  response: Response,
  route: MeteredRoute,
  streaming: boolean | null,
  report: (usage: UsageReport) => void,
): Response {
  const reader = createUsageReader(route, {
    status: response.status,
    contentType: response.headers.get("content-type"),
    streaming,
  });
  if (response.body === null) {
    report(reader.end(true));
    return response;
  }
  const source = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await source.read();
        if (done) {
          controller.close();
          report(reader.end(true));
          return;
        }
        reader.push(value);
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        report(reader.end(false));
      }
    },
    async cancel(reason) {
      await source.cancel(reason);
      report(reader.end(false));
    },
  });
  return new Response(body, response);
}

function toCall(
  book: PriceBook,
  route: MeteredRoute,
  requestedModel: string | null,
  at: number,
  status: number,
  usage: UsageReport,
): MeteredCall {
  const { provider, requestKind } = route;
  const model = usage.model ?? requestedModel ?? "unknown";
  const { tokens, extras, serviceTier, providerCostPicoUsd } = usage;
  const price = priceUsage(
    { provider, model, requestedModel, at, tokens, extras, serviceTier, providerCostPicoUsd, requestKind },
    book,
  );
  return { callId: uuidV7(at, randomBytes(10)), provider, model, status, usage, price };
}
