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
}

/** What a request to some host is, as far as metering goes. */
export type RouteMatch =
  | MeteredRoute
  /** A known path that is not billed by usage: model lists, token counting, files, telemetry. */
  | { kind: "free"; provider: string }
  /** A path that nobody told us about on a provider's host: counted as not metered, never guessed. */
  | { kind: "unknown_path"; provider: string }
  | { kind: "not_provider" };
