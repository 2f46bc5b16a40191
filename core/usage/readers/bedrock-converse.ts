import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { isObject, membersOf, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
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
 * The model that Bedrock bills: the one in the path, whose profile prefix (`us.`, `eu.`, `apac.`, `global.`) decides the
 * price. Of an ARN it is what follows the last slash, except that the id of an application's own profile or of a
 * provisioned model names no model.
 */
export function bedrockModel(routeModel: string | null): string | null {
  if (routeModel === null || !routeModel.startsWith("arn:")) return routeModel;
  const resource = routeModel.split(":").slice(5).join(":");
  if (!/^(inference-profile|foundation-model)\//.test(resource)) return null;
  return resource.slice(resource.indexOf("/") + 1);
}

/**
 * Bedrock Converse, whole (`usage`) or as an event stream, whose last event (`metadata`) has it.
 *
 * - `inputTokens` is **exclusive** of `cacheReadInputTokens` and `cacheWriteInputTokens`; `totalTokens` is the sum of all
 *   of them and of `outputTokens`. What was written for an hour stands in `cacheDetails` (`{ttl: "1h", inputTokens}`).
 * - `outputTokens` is all output; reasoning is not split from it.
 * - `serviceTier.type` is the tier that served the call. The answer names neither model nor id: the first is the path's,
 *   the second is the request id of a header.
 * - An exception may come as a message of the stream, after a 200.
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
    knowsModel: () => true,
    read(message) {
      const stated = message.value("usage");
      if (!isObject(stated)) return;
      usage = stated;
      serviceTier = membersOf(message.value("serviceTier")).type;
    },
    end() {
      const stated = membersOf(usage);
      const input = readCount(stated.inputTokens);
      const output = readCount(stated.outputTokens);
      const absent = input === null ? null : 0;
      const cacheWrite =
        readCount(stated.cacheWriteInputTokens ?? stated.cacheWriteInputTokenCount) ?? absent;
      // A part of a total that is not stated is none.
      const writes = splitTotal(cacheWrite, [cacheWrite === null ? null : oneHourOf(stated.cacheDetails)]);
      return {
        tokens: {
          ...NO_TOKENS,
          promptTokens: input,
          cacheReadTokens:
            readCount(stated.cacheReadInputTokens ?? stated.cacheReadInputTokenCount) ?? absent,
          cacheWriteTokens: cacheWrite,
          cacheWrite1hTokens: writes.parts[0] ?? null,
          completionTokens: output,
        },
        tokensComplete: input !== null && output !== null && writes.consistent,
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

/** The tokens written for an hour, or null where the answer does not split the writes. */
function oneHourOf(details: unknown): number | null {
  if (!Array.isArray(details)) return null;
  let sum = 0;
  for (const entry of details) {
    const { ttl, inputTokens } = membersOf(entry);
    if (ttl === "1h") sum += readCount(inputTokens) ?? 0;
  }
  return sum;
}
