import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { addCounts, asObject, NO_TOKENS, readCount } from "../token-counts.ts";
import { setPartExtra } from "../usage-extras.ts";
import { bedrockModel } from "./bedrock-converse.ts";

/** The steps of an agent whose traces state the usage of a model. */
const STEPS = [
  "preProcessingTrace",
  "orchestrationTrace",
  "postProcessingTrace",
  "routingClassifierTrace",
] as const;

const USAGE_PATHS = STEPS.map((step) => `trace.${step}.modelInvocationOutput.metadata.usage`);
const MODEL_PATHS = STEPS.map((step) => `trace.${step}.modelInvocationInput.foundationModel`);

/**
 * An agent of Bedrock's agent runtime (InvokeAgent, InvokeInlineAgent), as an event stream. The usage of each model request is
 * in a `trace` event, and only if the request enables traces (`enableTrace`). The record has their sum. Without traces the
 * tokens are unknown. The model is that of the last trace.
 * Source: docs.aws.amazon.com/bedrock, "API_agent-runtime_OrchestrationModelInvocationOutput", Metadata, Usage.
 */
export const bedrockAgents = defineApiReader({
  members: [...USAGE_PATHS, ...MODEL_PATHS],
  keys: ["usage", "foundationModel"],
  framing: "event_stream",
  streamsByDefault: true,
  promptMembers: ["inputText"],
  start: startAgent,
});

function startAgent({ header }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let input: number | null = null;
  let output: number | null = null;
  return {
    read(message) {
      for (const path of MODEL_PATHS) model = bedrockModel(message.string(path)) ?? model;
      for (const path of USAGE_PATHS) {
        const usage = message.value(path);
        if (!isObject(usage)) continue;
        input = addCounts(input, readCount(usage.inputTokens));
        output = addCounts(output, readCount(usage.outputTokens));
      }
    },
    end: (ended) => ({
      tokens: { ...NO_TOKENS, promptTokens: input, completionTokens: output },
      tokensComplete: ended && input !== null && output !== null,
      model,
      responseId: header("x-amzn-requestid"),
      serviceTier: null,
      extras: {},
      providerCostPicoUsd: null,
      unknownUsage: null,
    }),
  };
}

const SONIC = "event.usageEvent";

/**
 * A bidirectional stream of a speech model (Nova Sonic). Each `usageEvent` states the totals so far, and `details.total` their
 * parts by speech and text. The last one counts. The API needs HTTP/2, so its calls reach a meter only where it speaks that.
 * Source: docs.aws.amazon.com/nova, "Handling output events with the bidirectional API", read 2026-11-23.
 */
export const bedrockBidirectional = defineApiReader({
  members: [`${SONIC}.totalInputTokens`, `${SONIC}.totalOutputTokens`, `${SONIC}.details.total`],
  keys: ["usageEvent"],
  lastWins: true,
  framing: "event_stream",
  streamsByDefault: true,
  promptMembers: [],
  start: startBidirectional,
});

function startBidirectional({ routeModel, header }: AnswerFacts): MessageReader {
  let input: number | null = null;
  let output: number | null = null;
  let details: Readonly<Record<string, unknown>> = {};
  return {
    read(message) {
      input = readCount(message.value(`${SONIC}.totalInputTokens`)) ?? input;
      output = readCount(message.value(`${SONIC}.totalOutputTokens`)) ?? output;
      details = asObject(message.value(`${SONIC}.details.total`));
    },
    end(ended) {
      const extras: Record<string, number> = {};
      setPartExtra(extras, "audio_input_tokens", asObject(details.input).speechTokens, input);
      setPartExtra(extras, "audio_output_tokens", asObject(details.output).speechTokens, output);
      return {
        tokens: { ...NO_TOKENS, promptTokens: input, completionTokens: output },
        tokensComplete: ended && input !== null && output !== null,
        model: bedrockModel(routeModel),
        responseId: header("x-amzn-requestid"),
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: null,
      };
    },
  };
}
