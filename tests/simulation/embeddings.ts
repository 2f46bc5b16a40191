import { type Answer, noUsage, type ProviderCall, stated, textField } from "./answer.ts";
import { commonHeaders } from "./openai-chat.ts";

const dimensions = 8;

/** OpenAI's Embeddings API: only input is billed. Vectors are floats or, as its SDK requests them, their bytes in base64. */
export function answerOpenAiEmbeddings(call: ProviderCall): Answer {
  const model = textField(call.body, "model", "text-embedding-3-small");
  const inputs = Array.isArray(call.body.input) ? call.body.input.length : 1;
  const asBase64 = call.body.encoding_format === "base64";
  const data = Array.from({ length: inputs }, (_, index) => {
    const vector = chooseVector(call);
    const bytes = Buffer.from(Float32Array.from(vector).buffer);
    return { object: "embedding", index, embedding: asBase64 ? bytes.toString("base64") : vector };
  });
  const prompt = call.numbers.freshInput;
  const body = { object: "list", data, model, usage: { prompt_tokens: prompt, total_tokens: prompt } };
  return {
    status: 200,
    headers: [["content-type", "application/json"], ...commonHeaders(call)],
    parts: [
      {
        text: JSON.stringify(body, null, 2),
        stated: stated({ promptTokens: prompt, completionTokens: 0 }),
      },
    ],
    streaming: false,
    model,
    responseId: null,
    serviceTier: null,
    extras: {},
    error: null,
  };
}

/** Gemini's embedContent and batchEmbedContents. The model is only in the path, not in the response. */
export function answerGeminiEmbed(call: ProviderCall): Answer {
  const requests = call.body.requests;
  const batch = call.path.endsWith(":batchEmbedContents");
  const embedding = () => ({ values: chooseVector(call) });
  const prompt = call.numbers.freshInput;
  const statesUsage = !call.scenario.traits.has("no-usage");
  const body = {
    ...(batch
      ? { embeddings: Array.from({ length: Array.isArray(requests) ? requests.length : 1 }, embedding) }
      : { embedding: embedding() }),
    ...(statesUsage
      ? {
          usageMetadata: {
            promptTokenCount: prompt,
            promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }],
          },
        }
      : {}),
  };
  return {
    status: 200,
    headers: [["Content-Type", "application/json; charset=UTF-8"]],
    parts: [
      {
        text: `${JSON.stringify(body, null, 2)}\n`,
        stated: statesUsage ? stated({ promptTokens: prompt, completionTokens: 0 }) : noUsage,
      },
    ],
    streaming: false,
    model: null,
    responseId: null,
    serviceTier: null,
    extras: {},
    error: null,
  };
}

function chooseVector(call: ProviderCall): number[] {
  return Array.from({ length: dimensions }, () => call.random.integer(-1_000, 1_000) / 1_024);
}
