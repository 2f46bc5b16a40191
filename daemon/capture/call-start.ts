import type { RequestHead } from "../../core/metering/exchange/head.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import type { ConnectionFacts } from "./ports.ts";

/** The facts of a call that are known after its request head. */
export interface CallStart {
  facts: ConnectionFacts;
  route: MeteredRoute;
  head: RequestHead;
  path: string;
  headerProject: string | null;
  startedAtMs: number;
}
