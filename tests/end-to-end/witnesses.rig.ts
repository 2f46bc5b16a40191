import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OtlpSignal } from "../../core/metering/client-reports/otlp-shapes.ts";
import { encodeOtlp, logsRequest, metricsRequest } from "../core/metering/client-reports/otlp.rig.ts";
import type { MeterProcess } from "./meter-process.rig.ts";

/** The usage in a response of Anthropic's API. */
interface Answer {
  readonly id: string;
  readonly model: string;
  readonly usage: Readonly<Record<string, number>>;
}

/** A simulated Claude Code, which calls through the proxy, writes its log and reports by OpenTelemetry. */
export interface SimulatedClaude {
  /** Calls through the gateway in a session. Null if the response is not successful. */
  call(session: string, text: string): Promise<Answer | null>;
  /** Begins a stream and aborts it. */
  abort(session: string, text: string): Promise<void>;
  /** Adds a line to the log of a session. */
  log(session: string, answer: Answer, members?: { readonly at?: number; readonly output?: number }): void;
  /** Reports a request, as JSON or as protobuf. */
  report(
    session: string,
    answer: Answer,
    members?: { readonly source?: string; readonly isProtobuf?: boolean },
  ): Promise<void>;
  /** Reports a running total of input tokens that began at a time. */
  reportTotal(session: string, model: string, input: number, startedAt: number): Promise<void>;
}

/** Creates a Claude Code whose home is `folder`. */
export function createClaude(meter: () => MeterProcess, folder: string): SimulatedClaude {
  const logs = new Map<string, string>();
  const open = (session: string, text: string, stream: boolean, signal: AbortSignal | null = null) =>
    fetch(`http://127.0.0.1:${meter().proxyPort}/anthropic/v1/messages`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "claude-cli/2.1.240 (external, cli)",
        "x-claude-code-session-id": session,
        "x-api-key": "sk-ant-test",
      },
      body: JSON.stringify({
        ...{ model: "claude-sonnet-4-5", max_tokens: 9, stream },
        messages: [{ role: "user", content: text }],
      }),
      signal,
    });
  const send = async (signal: OtlpSignal, request: unknown, isProtobuf = false) => {
    const answer = await fetch(`http://127.0.0.1:${meter().apiPort}/otlp/v1/${signal}`, {
      method: "POST",
      headers: { "content-type": isProtobuf ? "application/x-protobuf" : "application/json" },
      body: isProtobuf ? Uint8Array.from(encodeOtlp(signal, request)) : JSON.stringify(request),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
  return {
    async call(session, text) {
      const answer = await open(session, text, false);
      const body = (await answer.json()) as Answer;
      return answer.ok ? body : null;
    },
    async abort(session, text) {
      const abort = new AbortController();
      const answer = await open(session, text, true, abort.signal);
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      abort.abort();
      await reader.read().catch(() => {});
    },
    log(session, { id, model, usage }, { at = Date.now(), output } = {}) {
      const line = {
        ...{ type: "assistant", requestId: `req_${id}`, sessionId: session, version: "2.1.240" },
        timestamp: new Date(at).toISOString(),
        message: { id, model, usage: { ...usage, output_tokens: output ?? usage.output_tokens } },
      };
      logs.set(session, `${logs.get(session) ?? ""}${JSON.stringify(line)}\n`);
      const projects = join(folder, ".claude", "projects", "-w-shop");
      mkdirSync(projects, { recursive: true });
      writeFileSync(join(projects, `${session}.jsonl`), logs.get(session) ?? "");
    },
    report: (session, { id, model, usage }, { source = "repl_main_thread", isProtobuf = false } = {}) =>
      send(
        "logs",
        logsRequest("claude-code", {
          event: "claude_code.api_request",
          at: Date.now(),
          values: {
            ...{ "session.id": session, model, request_id: `req_${id}`, query_source: source },
            input_tokens: usage.input_tokens ?? 0,
            output_tokens: usage.output_tokens ?? 0,
            cache_read_tokens: usage.cache_read_input_tokens ?? 0,
            cache_creation_tokens: usage.cache_creation_input_tokens ?? 0,
            cost_usd: 0.01,
            prompt: "a prompt that must not be stored",
          },
        }),
        isProtobuf,
      ),
    reportTotal: (session, model, input, startedAt) =>
      send(
        "metrics",
        metricsRequest(2, {
          name: "claude_code.token.usage",
          points: [
            {
              ...{ value: input, at: Date.now(), start: startedAt },
              values: { "session.id": session, model, type: "input" },
            },
          ],
        }),
        true,
      ),
  };
}
