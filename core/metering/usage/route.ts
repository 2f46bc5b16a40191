import type { BillingMode, RequestKind } from "../../values/record.ts";
import type { ApiId } from "./api-readers.ts";

/** A request whose response is metered. */
export interface MeteredRoute {
  kind: "metered";
  provider: string;
  api: ApiId;
  requestKind: RequestKind;
  /** The model, if the path names it, as in Gemini's API. */
  model: string | null;
  /** The id of the earlier response that the request fetches, if the path names it. */
  responseId?: string;
  /** Whether the response streams; null if the path does not decide it. */
  streaming: boolean | null;
  /** How all calls of this host are billed; absent if the credential decides. */
  billing?: BillingMode;
  /** Extras implied by the address, such as `regional_endpoint`. They are added to each report of this route. */
  extras?: Readonly<Record<string, number>>;
  /** True for a request that only fetches the result of an earlier one, such as a poll or the results of a batch. */
  fetches?: boolean;
  /** True for a WebSocket. `createMessageUsageReader` reads its messages. */
  webSocket?: boolean;
  /** True for a WebSocket whose messages all belong to one record. */
  wholeSession?: boolean;
  /** The models that the operator configured for Azure deployments. */
  deployments?: ReadonlyMap<string, string>;
}

/** The result of matching a request. */
export type RouteMatch =
  | MeteredRoute
  /** A known path that is not billed by usage, such as model lists, token counting, files and telemetry. */
  | { kind: "free"; provider: string }
  /** An unknown path on a provider host. It is counted as unmetered. */
  | { kind: "unknown_path"; provider: string }
  /** Not a provider host. */
  | { kind: "not_provider" };
