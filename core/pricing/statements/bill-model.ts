import { normaliseModelName } from "../model-match.ts";

/** Parts of a name that are a vendor, a region or a version of the API, not the model. */
const NOT_THE_MODEL =
  /^(?:(?:us|eu|apac|jp|au|ca|global|anthropic|amazon|meta|mistral|cohere|openai|deepseek|qwen|ai21|google)[./])+|-v\d+(?::\d+)*$|:\d+$/g;

/** A snapshot: `-20250929`, `-2025-09-29`, ` 2024-10-22` or `-latest`. */
const SNAPSHOT = /[-@ ](?:20\d{6}|20\d\d-\d\d-\d\d|latest)(?=-v\d|$)/;

/**
 * Returns what the names of one model have in common: its words and numbers, sorted, without vendor, region and snapshot.
 * `Claude Sonnet 4.5`, `claude-sonnet-4-5-20250929`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and Bedrock's
 * `Claude4.5Sonnet` are `4-5-claude-sonnet`. Snapshots of one model are compared as one.
 */
export function billModelOf(name: string): string {
  const path = normaliseModelName(name.replace(/([a-z])([A-Z])/g, "$1-$2"));
  const bare = path
    .slice(path.lastIndexOf("/") + 1)
    .replace(SNAPSHOT, "")
    .replaceAll(NOT_THE_MODEL, "");
  return (bare.match(/\p{L}+|\d+/gu) ?? []).sort().join("-");
}
