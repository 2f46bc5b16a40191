import type { Explanation } from "../../core/pricing/explain-request.ts";
import { calculationJson } from "../../pages/request-file.ts";
import { requestJson } from "./request-json.ts";

/** Converts an explanation to its wire form. */
export const explanationJson = (explanation: Explanation) => ({
  request: requestJson(explanation.request),
  ...calculationJson(explanation),
});
