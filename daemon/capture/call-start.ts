import type { RequestHead } from "../../core/exchange/mod.ts";
import type { MeteredRoute } from "../../core/usage/mod.ts";
import type { ConnectionFacts } from "./ports.ts";

/** What is known of a call when its request head has passed. */
export interface CallStart {
  facts: ConnectionFacts;
  route: MeteredRoute;
  head: RequestHead;
  path: string;
  headerProject: string | null;
  startedAtMs: number;
}
