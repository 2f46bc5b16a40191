import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const AT = Date.now() - 60_000;

const tokens = {
  ...{ promptTokens: 500, cacheReadTokens: 4000, cacheWriteTokens: 500, cacheWrite1hTokens: null },
  ...{ completionTokens: 200, thinkingTokens: null },
};

/** A span of a request, as Copilot CLI writes it. */
const span = (responseId: string, operation = "chat") =>
  `${JSON.stringify({
    ...{ type: "span", name: `${operation} claude-sonnet-5`, traceId: "t", spanId: responseId },
    endTime: [AT / 1000, 0],
    attributes: {
      "gen_ai.operation.name": operation,
      "gen_ai.response.model": "claude-sonnet-5",
      "gen_ai.response.id": responseId,
      "gen_ai.conversation.id": "cp-1",
      "gen_ai.usage.input_tokens": 5000,
      "gen_ai.usage.output_tokens": 200,
      "gen_ai.usage.cache_read.input_tokens": 4000,
      "gen_ai.usage.cache_creation.input_tokens": 500,
    },
  })}\n`;

describe("meter reconcile logs", () => {
  it("joins what Copilot CLI reports in files with the calls of the proxy, each span once", async () => {
    const user = mkdtempSync(join(tmpdir(), "meter-user-"));
    const otel = join(user, ".copilot", "otel");
    mkdirSync(otel, { recursive: true });
    writeFileSync(
      join(otel, "a.jsonl"),
      `${span("msg_1")}${span("msg_1", "invoke_agent")}${span("msg_2")}{"type":"span","gen_ai.usage`,
    );
    const own = join(user, "own.log");
    writeFileSync(own, span("msg_1"));
    const { home, remove } = await createSampleHome((store) =>
      store.records.insert([
        sampleRecord({
          ...{ client: "copilot", model: "claude-sonnet-5", sessionId: "cp-1", sessionSource: "stated" },
          ...{ requestedAt: AT - 900, latencyMs: 900, providerResponseId: "msg_1", tokens },
        }),
      ]),
    );
    try {
      const { stdout, stderr } = await runWords(home, ["reconcile", "logs", "--json"], {
        ...{ HOME: user, USERPROFILE: user, COPILOT_OTEL_FILE_EXPORTER_PATH: own },
      });
      assert.ok(stdout.startsWith("{"), stderr);
      const { days } = JSON.parse(stdout) as {
        readonly days: readonly { agreed: number; differences: readonly { kind: string; calls: number }[] }[];
      };
      // The second span is of a call that neither the proxy nor an imported log knows.
      assert.deepEqual(
        days.map(({ agreed, differences }) => [agreed, differences.length]),
        [[1, 1]],
        stdout,
      );
    } finally {
      remove();
      rmSync(user, { recursive: true, force: true });
    }
  });

  it("says that a prune deleted records of the period", async () => {
    const { home, remove } = await createSampleHome((store) =>
      store.records.insert([sampleRecord({ requestedAt: AT })]),
    );
    const user = mkdtempSync(join(tmpdir(), "meter-user-"));
    const reconcile = (...words: string[]) =>
      runWords(home, ["reconcile", "logs", ...words], { HOME: user, USERPROFILE: user });
    const before = new Date(AT - 3_600_000).toISOString();
    try {
      assert.doesNotMatch((await reconcile()).stderr, /prune/);
      assert.equal((await runWords(home, ["prune", "--before", before, "--yes"])).code, 0);
      assert.equal(
        (await reconcile()).stderr,
        `meter: \`meter prune\` deleted the records from before ${before}. Earlier calls are missing here.\n`,
      );
      const { stdout, stderr } = await reconcile("--json");
      assert.deepEqual([JSON.parse(stdout).pruned_before, stderr], [before, ""]);
      assert.equal((await reconcile("--since", before)).stderr, "");
    } finally {
      remove();
      rmSync(user, { recursive: true, force: true });
    }
  });

  it("knows an agent by its User-Agent if no process was found", async () => {
    const { home, remove } = await createSampleHome((store) =>
      store.records.insert(
        ["claude-cli", "codex_cli_rs", "GeminiCLI", "curl"].map((client) =>
          sampleRecord({ client, sessionId: `of-${client}`, sessionSource: "stated", requestedAt: AT }),
        ),
      ),
    );
    try {
      const { stdout } = await runWords(home, ["reconcile", "logs", "--json"], {
        HOME: home,
        USERPROFILE: home,
      });
      const { days } = JSON.parse(stdout) as {
        readonly days: readonly { session: string; agent: string; differences: { reason: string }[] }[];
      };
      assert.deepEqual(
        days.map(({ session, agent, differences }) => [
          session,
          agent,
          differences.map(({ reason }) => reason),
        ]),
        [
          ["of-GeminiCLI", "gemini", ["no_log"]],
          ["of-claude-cli", "claude", ["no_log"]],
          ["of-codex_cli_rs", "codex", ["no_log"]],
        ],
      );
    } finally {
      remove();
    }
  });

  it("prints no secret that a log or a report states in place of a name", async () => {
    const user = mkdtempSync(join(tmpdir(), "meter-user-"));
    const secret = `sk-ant-api03-${"a1B2".repeat(23)}AA`;
    const [otel, claude] = [join(user, ".copilot", "otel"), join(user, ".claude", "projects", "-w")];
    for (const folder of [otel, claude]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(otel, "a.jsonl"), span("msg_1").replaceAll("cp-1", secret));
    const line = {
      ...{ type: "assistant", sessionId: secret, requestId: "req_1", timestamp: new Date(AT).toISOString() },
      message: { id: "msg_2", model: secret, usage: { input_tokens: 5, output_tokens: 20 } },
    };
    writeFileSync(join(claude, "s.jsonl"), `${JSON.stringify(line)}\n`);
    const { home, remove } = await createSampleHome(() => {});
    try {
      for (const format of [[], ["--all"], ["--json"], ["--csv"]]) {
        const { stdout, stderr } = await runWords(home, ["reconcile", "logs", ...format], {
          ...{ HOME: user, USERPROFILE: user },
        });
        assert.match(stdout, /claude/i);
        assert.ok(!`${stdout}${stderr}`.includes("sk-ant"), stdout);
      }
    } finally {
      remove();
      rmSync(user, { recursive: true, force: true });
    }
  });
});
