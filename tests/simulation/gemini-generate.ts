import { type Answer, type AnswerPart, chooseText, noUsage, type ProviderCall, stated } from "./answer.ts";
import { midStreamError } from "./provider-errors.ts";

/**
 * Gemini's generateContent and streamGenerateContent. `promptTokenCount` includes the cached content,
 * `candidatesTokenCount` excludes the thoughts, and tool results are counted separately. A stream repeats the usage known
 * so far in each piece. As in proto3, a count of zero is left out. With `alt=sse` the stream has server-sent events, otherwise it
 * is one JSON array.
 */
export function answerGeminiGenerate(call: ProviderCall, requestedModel: string): Answer {
  const { numbers, random, scenario } = call;
  const model = requestedModel;
  const responseId = random.text(23);
  const streaming = call.path.endsWith(":streamGenerateContent");
  const asEvents = call.query.get("alt") === "sse";
  const statesUsage = !scenario.traits.has("no-usage");
  const pieces = chooseText(call);
  const prompt = numbers.freshInput + numbers.cacheRead;
  const withThoughts = numbers.thinking > 0;
  const finishReason = scenario.outcome === "incomplete" ? "MAX_TOKENS" : "STOP";

  const usage = (candidates: number | null) => ({
    promptTokenCount: prompt,
    ...(numbers.cacheRead > 0 ? { cachedContentTokenCount: numbers.cacheRead } : {}),
    ...(candidates === null ? {} : { candidatesTokenCount: candidates }),
    totalTokenCount:
      prompt + (candidates ?? 0) + numbers.toolResultInput + (withThoughts ? numbers.thinking : 0),
    promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }],
    ...(numbers.cacheRead > 0
      ? { cacheTokensDetails: [{ modality: "TEXT", tokenCount: numbers.cacheRead }] }
      : {}),
    ...(numbers.toolResultInput > 0
      ? {
          toolUsePromptTokenCount: numbers.toolResultInput,
          toolUsePromptTokensDetails: [{ modality: "TEXT", tokenCount: numbers.toolResultInput }],
        }
      : {}),
    ...(withThoughts ? { thoughtsTokenCount: numbers.thinking } : {}),
  });
  const statedWith = (candidates: number | null, complete: boolean) =>
    statesUsage
      ? stated(
          {
            promptTokens: numbers.freshInput + numbers.toolResultInput,
            cacheReadTokens: numbers.cacheRead,
            completionTokens: candidates ?? 0,
            thinkingTokens: numbers.thinking,
          },
          complete,
        )
      : noUsage;
  const piece = (parts: unknown[], finish: string | null, candidates: number | null) => ({
    candidates: [
      { content: { parts, role: "model" }, ...(finish === null ? {} : { finishReason: finish }), index: 0 },
    ],
    ...(statesUsage ? { usageMetadata: usage(candidates) } : {}),
    modelVersion: model,
    responseId,
  });

  const thought = withThoughts ? [{ text: "**Counting**\n\nI count.", thought: true }] : [];
  const functionCall = scenario.traits.has("tools")
    ? [{ functionCall: { name: "get_weather", args: { city: "Zürich" } }, thoughtSignature: random.text(24) }]
    : [];
  const answer = {
    status: 200,
    streaming,
    model,
    responseId,
    serviceTier: null,
    extras: {},
    error: null,
  };
  if (!streaming) {
    const parts = [...thought, { text: pieces.join("") }, ...functionCall];
    return {
      ...answer,
      headers: [["Content-Type", "application/json; charset=UTF-8"], ...commonHeaders],
      parts: [
        {
          text: `${JSON.stringify(piece(parts, finishReason, numbers.visibleOutput), null, 2)}\n`,
          stated: statedWith(numbers.visibleOutput, true),
        },
      ],
    };
  }

  const values: { value: unknown; stated: ReturnType<typeof statedWith> }[] = [];
  // The thoughts precede the first visible token, and until then nothing visible is counted.
  if (withThoughts) values.push({ value: piece(thought, null, null), stated: statedWith(null, false) });
  for (const [index, text] of pieces.entries()) {
    const last = index === pieces.length - 1;
    const candidates = last
      ? numbers.visibleOutput
      : Math.floor((numbers.visibleOutput * (index + 1)) / pieces.length);
    values.push({
      value: piece([{ text }, ...(last ? functionCall : [])], last ? finishReason : null, candidates),
      stated: statedWith(candidates, last),
    });
  }
  let error: Answer["error"] = null;
  if (scenario.outcome === "error-in-stream") {
    const told = midStreamError(call);
    error = told.error;
    values.splice(Math.ceil(values.length / 2));
    values.push({ value: told.body, stated: values.at(-1)!.stated });
  }
  const parts: AnswerPart[] = values.map(({ value, stated: known }, index) => {
    if (asEvents) return { text: `data: ${JSON.stringify(value)}\r\n\r\n`, stated: known };
    const before = index === 0 ? "[" : ",\r\n";
    const after = index === values.length - 1 ? "\n]\n" : "\n";
    return { text: `${before}${JSON.stringify(value, null, 2)}${after}`, stated: known };
  });
  return {
    ...answer,
    error,
    headers: [
      ["Content-Type", asEvents ? "text/event-stream" : "application/json; charset=UTF-8"],
      ...commonHeaders,
    ],
    parts,
  };
}

const commonHeaders = [
  ["Vary", "Origin"],
  ["Vary", "X-Origin"],
  ["Vary", "Referer"],
  ["Server", "scaffolding on HTTPServer2"],
  ["X-XSS-Protection", "0"],
  ["X-Frame-Options", "SAMEORIGIN"],
  ["X-Content-Type-Options", "nosniff"],
  ["Server-Timing", "gfet4t7; dur=7"],
] as const;
