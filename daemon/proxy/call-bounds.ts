import { boundCall, type CallToBound } from "../../core/budgets/bound/bound-call.ts";
import { toMicroUsd } from "../../core/budgets/pass-room.ts";
import { headerValue, type RequestHead } from "../../core/metering/exchange/head.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import type { Millis } from "../../core/values/time.ts";
import type { PassBound } from "./passes.ts";

/** What the daemon knows of calls that go to one place and name one model. */
export interface KnownPricing {
  readonly host: string;
  readonly port: number;
  readonly method: string;
  readonly target: string;
  readonly route: CallToBound["route"];
  readonly model: string;
  /** Null: the model has no known rates, so only its tokens are bounded. */
  readonly row: RateRow | null;
}

/** A request whose body is complete. */
export interface CallToPass extends Pick<KnownPricing, "host" | "port"> {
  readonly head: RequestHead;
  /** The body without chunk framing. */
  readonly body: Uint8Array;
}

/** Bounds calls in the relay, which has no registry and no rates. */
export interface CallBounds {
  /** Replaces what is known. */
  learn(pricing: readonly KnownPricing[]): void;
  find(call: CallToPass): PassBound;
}

/** The bound of a call of which nothing is known. */
export const UNKNOWN_BOUND: PassBound = { microUsd: null, tokens: null };

type Place = Pick<KnownPricing, "host" | "port" | "method" | "target">;

/** The key of what has the same route. */
export const placeKey = ({ host, port, method, target }: Place) => `${host}:${port} ${method} ${target}`;

/** Creates the bounds of a relay. */
export function createCallBounds(now: () => Millis): CallBounds {
  let places = new Map<
    string,
    { readonly route: CallToBound["route"]; readonly rows: Map<string, RateRow | null> }
  >();
  return {
    learn(pricing) {
      places = new Map();
      for (const each of pricing) {
        const key = placeKey(each);
        const place = places.get(key) ?? { route: each.route, rows: new Map() };
        place.rows.set(each.model, each.row);
        places.set(key, place);
      }
    },
    find({ host, port, head, body }) {
      const place = places.get(placeKey({ host, port, method: head.method, target: head.target }));
      if (place === undefined || headerValue(head.headers, "content-encoding") !== null) return UNKNOWN_BOUND;
      const { route, rows } = place;
      try {
        const { tokens, costPicoUsd } = boundCall(
          { route, body, bodyBytes: body.length, at: now() },
          { find: ({ model }) => rows.get(model) ?? null },
        );
        return { microUsd: costPicoUsd === null ? null : toMicroUsd(costPicoUsd), tokens };
      } catch {
        // No body may end the relay.
        return UNKNOWN_BOUND;
      }
    },
  };
}
