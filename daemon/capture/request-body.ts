import { createKeyFinder } from "../../core/metering/usage/key-finder.ts";
import {
  compileMemberPaths,
  createMemberPicker,
  type MemberPicker,
} from "../../core/metering/usage/member-picker.ts";
import {
  createRequestFactsReader,
  type RequestFacts,
  type RequestFactsReader,
  readRequest,
} from "../../core/metering/usage/read-request.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import { type BodyBuffer, createBodyBuffer } from "./body-buffer.ts";
import type { ByteBudget } from "./byte-budget.ts";

/** A request body. If it can't be kept, its facts are read while it passes, and its prompt hash is unknown. */
export interface RequestBody extends BodyBuffer {
  read(): { facts: RequestFacts; isBackground: boolean };
}

const findBackground = createKeyFinder(["background"]);
const BACKGROUND = compileMemberPaths(["background"]);

export function createRequestBody(route: MeteredRoute, budget: ByteBudget): RequestBody {
  let streamed: { facts: RequestFactsReader; background: MemberPicker } | null = null;
  const buffer = createBodyBuffer({
    budget,
    overflow(bytes) {
      streamed ??= { facts: createRequestFactsReader(route), background: createMemberPicker(BACKGROUND) };
      streamed.facts.push(bytes);
      if (mayRunInBackground) streamed.background.push(bytes);
    },
  });
  const mayRunInBackground = route.api === "openai.responses";
  return Object.assign(buffer, {
    read() {
      if (streamed !== null) {
        const isBackground = streamed.background.end().text("background") !== null;
        return { facts: streamed.facts.end(), isBackground };
      }
      const body = buffer.bytes();
      const isBackground = mayRunInBackground && body !== null && findBackground(body) !== 0;
      return { facts: readRequest(route, body), isBackground };
    },
  });
}
