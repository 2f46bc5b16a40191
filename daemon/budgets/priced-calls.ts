import { type KnownPricing, placeKey } from "../proxy/call-bounds.ts";
import type { CallQuestion } from "../proxy/call-question.ts";
import type { CallSources, KnownCall } from "./describe-held-call.ts";

/** The pricing of calls, from which the relay bounds further ones like them. */
export interface PricedState extends Pick<CallSources, "prices" | "now"> {
  /** How calls like those that were decided on last are priced, by host, path and model. The latest is the last. */
  readonly priced: Map<string, Omit<KnownPricing, "row">>;
}

/** For how many paths and models the relay can bound calls. */
const MAX_PRICED = 16;

/** Returns the pricing with the rates of now. */
export function listPricing({ priced, prices, now }: PricedState): readonly KnownPricing[] {
  const at = now();
  // Sorted, so that only a change changes it.
  return [...priced.keys()].sort().map((key) => {
    const each = priced.get(key) as Omit<KnownPricing, "row">;
    const { model, route } = each;
    return { ...each, row: prices().find({ provider: route.provider, model, requestedModel: null, at }) };
  });
}

/** Lets the relay bound calls like this one. */
export function notePricing(
  { priced }: Pick<PricedState, "priced">,
  { host, port, isTurn }: CallQuestion,
  { head: { method, target }, route, model, bound }: KnownCall,
): void {
  if (isTurn || model === null || bound.tokens === null) return;
  const key = `${placeKey({ host, port, method, target })} ${model}`;
  const known = priced.get(key);
  if (known !== undefined) {
    // To the end.
    priced.delete(key);
    priced.set(key, known);
    return;
  }
  const [oldest] = priced.keys();
  if (priced.size >= MAX_PRICED && oldest !== undefined) priced.delete(oldest);
  const { api, provider, requestKind, extras, billing, deployments } = route;
  priced.set(key, {
    ...{ host, port, method, target, model },
    route: {
      ...{ api, provider, model: route.model, requestKind },
      ...(extras !== undefined && { extras }),
      ...(billing !== undefined && { billing }),
      ...(deployments !== undefined && { deployments }),
    },
  });
}
