import { type Answer, answeredModel, chooseText, type ProviderCall, stated } from "./answer.ts";

/**
 * Returns a response of OpenAI's Realtime API, with one part per message. Usage is in `response.done` only, with separate text
 * and audio counts for input and output; the input includes the cached part. Half of the fresh input and half of the output
 * are audio; the cached input is text.
 */
export function answerRealtime(call: ProviderCall): Answer {
  const { numbers, random } = call;
  const model = answeredModel(call.query.get("model") ?? "gpt-realtime");
  const responseId = `resp_${random.text(21)}`;
  const itemId = `item_${random.text(21)}`;
  const audioInput = Math.floor(numbers.freshInput / 2);
  const audioOutput = Math.floor(numbers.visibleOutput / 2);
  const input = numbers.freshInput + numbers.cacheRead;
  const response = {
    object: "realtime.response",
    id: responseId,
    conversation_id: `conv_${random.text(21)}`,
  };
  const messages: Record<string, unknown>[] = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
    { type: "response.output_item.added", response_id: responseId, item: { id: itemId, type: "message" } },
    ...chooseText(call).map((delta) => ({
      type: "response.output_audio_transcript.delta",
      response_id: responseId,
      item_id: itemId,
      delta,
    })),
    {
      type: "response.output_audio.delta",
      response_id: responseId,
      item_id: itemId,
      delta: Buffer.from(random.text(3_000)).toString("base64"),
    },
    {
      type: "response.done",
      response: {
        ...response,
        status: "completed",
        usage: {
          total_tokens: input + numbers.visibleOutput,
          input_tokens: input,
          output_tokens: numbers.visibleOutput,
          input_token_details: {
            text_tokens: input - audioInput,
            audio_tokens: audioInput,
            image_tokens: 0,
            cached_tokens: numbers.cacheRead,
            cached_tokens_details: { text_tokens: numbers.cacheRead, audio_tokens: 0, image_tokens: 0 },
          },
          output_token_details: {
            text_tokens: numbers.visibleOutput - audioOutput,
            audio_tokens: audioOutput,
          },
        },
      },
    },
  ];
  const parts = messages.map((message) => ({
    text: JSON.stringify({ event_id: `event_${random.text(21)}`, ...message }),
  }));
  const last = parts.pop() as { text: string };
  const atEnd = stated({
    promptTokens: numbers.freshInput,
    cacheReadTokens: numbers.cacheRead,
    completionTokens: numbers.visibleOutput,
  });
  return {
    status: 101,
    headers: [],
    streaming: true,
    model,
    responseId,
    serviceTier: null,
    extras: { audio_input_tokens: audioInput, audio_output_tokens: audioOutput },
    error: null,
    parts: [...parts, { ...last, stated: atEnd }],
  };
}
