import type { ApiReader } from "../api-reader.ts";
import { openaiChat } from "./openai-chat.ts";

/**
 * A platform that serves models of any kind at one path, such as Databricks, SageMaker and Snowflake Cortex. A language
 * model's response has the form of Chat Completions. A response without usage makes no record, because it may come from
 * a forecast or a classifier.
 */
export const openaiServed: ApiReader = {
  ...openaiChat,
  start(facts) {
    const chat = openaiChat.start(facts);
    return {
      ...chat,
      end(ended) {
        const found = chat.end(ended);
        const { promptTokens, completionTokens } = found.tokens;
        const isUnstated = promptTokens === null && completionTokens === null;
        return isUnstated && found.noRecord === undefined ? { ...found, noRecord: "no_usage" } : found;
      },
    };
  },
};
