import type { RequestKind } from "../record.ts";
import type { ApiId } from "./api-readers.ts";

/** A request whose response states usage. */
export interface MeteredRoute {
  kind: "metered";
  provider: string;
  api: ApiId;
  requestKind: RequestKind;
  /** The model where the path names it, as Gemini's does. */
  model: string | null;
  /** Whether the answer streams, where the path alone decides it. */
  streaming: boolean | null;
  /** Extras that the address alone tells, such as `subscription`; they stand in each report of this route. */
  extras?: Readonly<Record<string, number>>;
  /** True for a request that only fetches what an earlier one made: a poll, the results of a batch. */
  fetches?: boolean;
  /** True where the answer is a WebSocket, whose messages `createMessageUsageReader` reads. */
  webSocket?: boolean;
  /** The models behind the deployments of an Azure resource, as the operator lists them. */
  deployments?: ReadonlyMap<string, string>;
}

/** What a request to some host is, as far as metering goes. */
export type RouteMatch =
  | MeteredRoute
  /** A known path that is not billed by usage: model lists, token counting, files, telemetry. */
  | { kind: "free"; provider: string }
  /** A path that nobody told us about on a provider's host: counted as not metered, never guessed. */
  | { kind: "unknown_path"; provider: string }
  | { kind: "not_provider" };
