import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { addCounts, asObject, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";

const KNOWN: KnownMembers = {
  inputTokens: true,
  outputTokens: true,
  totalTokens: true,
  cacheReadInputTokens: true,
  cacheWriteInputTokens: true,
  cacheReadInputTokenCount: true,
  cacheWriteInputTokenCount: true,
  cacheDetails: true,
  serverToolUsage: true,
};

/**
 * Returns the model that Bedrock bills, which is the one in the path. Its profile prefix (`us.`, `eu.`, `apac.`, `global.`)
 * affects the price. For an ARN, it is the last segment; null for an application inference profile or a provisioned model,
 * whose id names no model.
 */
export function bedrockModel(routeModel: string | null): string | null {
  if (routeModel === null || !routeModel.startsWith("arn:")) return routeModel;
  const resource = routeModel.split(":").slice(5).join(":");
  if (!/^(inference-profile|foundation-model)\//.test(resource)) return null;
  return resource.slice(resource.indexOf("/") + 1);
}

/**
 * Bedrock Converse. Usage is in `usage`; in an event stream, it is in the last event (`metadata`).
 *
 * - `inputTokens` is **exclusive** of `cacheReadInputTokens` and `cacheWriteInputTokens`; `totalTokens` is the sum of these
 *   three and `outputTokens`; a larger one leaves the usage incomplete. One-hour cache writes are in `cacheDetails` (`{ttl: "1h", inputTokens}`).
 * - `outputTokens` is all output. Reasoning is not stated separately.
 * - `serviceTier.type` is the tier that served the call. The response contains neither model nor id: the model comes from the
 *   path, the id from the request id header.
 * - An exception may be sent as a message of the stream after a 200.
 */
export const bedrockConverse = defineApiReader({
  members: ["usage", "serviceTier"],
  keys: ["usage"],
  framing: "event_stream",
  promptMembers: ["system", "messages"],
  start: startConverse,
});

function startConverse({ routeModel, header }: AnswerFacts): MessageReader {
  let usage: unknown;
  let serviceTier: unknown;
  return {
    read(message) {
      const stated = message.value("usage");
      if (!isObject(stated)) return;
      usage = stated;
      serviceTier = asObject(message.value("serviceTier")).type;
    },
    end() {
      const stated = asObject(usage);
      const input = readCount(stated.inputTokens);
      const output = readCount(stated.outputTokens);
      const absent = input === null ? null : 0;
      const cacheRead = readCount(stated.cacheReadInputTokens ?? stated.cacheReadInputTokenCount) ?? absent;
      const cacheWrite =
        readCount(stated.cacheWriteInputTokens ?? stated.cacheWriteInputTokenCount) ?? absent;
      const sum = addCounts(input, cacheRead, cacheWrite, output);
      // Without a stated total, the one-hour part is ignored.
      const writes = splitTotal(cacheWrite, [cacheWrite === null ? null : oneHourOf(stated.cacheDetails)]);
      return {
        tokens: {
          ...NO_TOKENS,
          promptTokens: input,
          cacheReadTokens: cacheRead,
          cacheWriteTokens: cacheWrite,
          cacheWrite1hTokens: writes.parts[0] ?? null,
          completionTokens: output,
        },
        tokensComplete:
          input !== null &&
          output !== null &&
          writes.consistent &&
          sum !== null &&
          (readCount(stated.totalTokens) ?? 0) <= sum,
        model: bedrockModel(routeModel),
        responseId: header("x-amzn-requestid"),
        serviceTier: typeof serviceTier === "string" ? serviceTier : null,
        extras: {},
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}

/** Returns the tokens of one-hour cache writes, or null if the response does not split the writes. */
function oneHourOf(details: unknown): number | null {
  if (!Array.isArray(details)) return null;
  let sum = 0;
  for (const entry of details) {
    const { ttl, inputTokens } = asObject(entry);
    if (ttl === "1h") sum += readCount(inputTokens) ?? 0;
  }
  return sum;
}
