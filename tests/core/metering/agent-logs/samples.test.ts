import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LogFault } from "../../../../core/metering/agent-logs/log-entry.ts";
import {
  LOG_FORMATS,
  type LogFormatName,
  logFormatOf,
} from "../../../../core/metering/agent-logs/log-formats.ts";
import { readLog, readSample, summarise } from "./read-log.rig.ts";

/**
 * What is read from each sample: one line per entry (see `summarise()`), and the planted faults. A sample with another name
 * than its format is a second sample.
 */
const SAMPLES: readonly {
  readonly sample: Parameters<typeof readSample>[0];
  readonly format: LogFormatName;
  readonly entries: readonly string[];
  readonly faults: Partial<Record<LogFault, number>>;
}[] = [
  {
    sample: "claude",
    format: "claude",
    entries: [
      "msg_01AAAA anthropic claude-sonnet-5 3 9000 500 200 120 -",
      "msg_01BBBB anthropic claude-haiku-5 50 0 0 0 20 -",
      "msg_01AAAA anthropic claude-sonnet-5 3 9000 500 - 120 -",
      "msg_01DDDD anthropic claude-sonnet-5 10 0 0 0 30 -",
      "msg_01DDDD/claude-opus-5 anthropic claude-opus-5 700 0 0 0 90 -",
      "msg_bdrk_01EE bedrock claude-sonnet-5 10 0 0 0 0 40 incomplete",
      "file-session/chatcmpl-1 unknown some-model 10 0 0 0 40 -",
      "file-session/w-2 unknown unknown 11 0 0 0 40 -",
    ],
    faults: { repeated: 1, synthetic: 1, placeholder: 1, inconsistent: 1, without_time: 1 },
  },
  {
    sample: "codex",
    format: "codex",
    entries: [
      "resp_a codex gpt-5.6 200 800 0 - 30 20",
      "thr-1/3000,1800,0,150,20 codex gpt-5.6 1000 1000 0 - 100 0",
      "thr-1/400,0,0,5,0 codex gpt-5.6 400 0 0 - 5 0",
      "thr-1/3500,2200,0,160,20 codex gpt-5.6 100 400 0 - 10 0",
      "thr-1/900,400,0,11,0 codex gpt-5.6 100 400 0 - 6 0",
      "thr-1/99000,40000,0,900,0 codex gpt-5.6 70 0 0 - 7 0",
      "resp_c codex codex-auto-review 0 10 0 - 5 0 incomplete",
    ],
    faults: {
      repeated: 2,
      repeated_counter: 1,
      limits_only: 1,
      local_estimate: 1,
      interleaved_counter: 1,
      hidden_model: 1,
      inconsistent: 1,
      placeholder: 2,
      without_time: 2,
    },
  },
  {
    sample: "gemini",
    format: "gemini",
    entries: [
      "g-1/m2 gemini gemini-3-pro 204 500 - - 30 60",
      "g-1/m3 gemini unknown 0 10 - - 1 0 incomplete",
      "g-1/m6 gemini gemini-3-pro 10 0 - - 0 0",
    ],
    faults: { placeholder: 2, inconsistent: 1, without_time: 1 },
  },
  {
    sample: "gemini_document",
    format: "gemini_document",
    entries: ["g-2/m2 gemini gemini-2.5-pro 8 0 - - 3 6"],
    faults: { placeholder: 1 },
  },
  {
    sample: "qwen",
    format: "qwen",
    entries: [
      "q-1/x1 alibaba qwen3.8-max 300 600 - - 40 10",
      "file-session/2026-08-03T07:00:04.000Z/9,unknown,4,unknown,unknown unknown other 9 0 - - 4 0",
      "file-session/2026-08-03T07:00:05.000Z/9,unknown,5,unknown,unknown unknown unknown 9 0 - - 5 0",
    ],
    faults: { without_time: 1 },
  },
  {
    sample: "opencode",
    format: "opencode",
    entries: [
      "1785600000000/anthropic/claude-sonnet-5 anthropic claude-sonnet-5 10 4000 200 - 90 0",
      "1785600000000/anthropic/claude-sonnet-5 anthropic claude-sonnet-5 10 4000 200 - 90 0",
      "1785600010000/openai/gpt-5.6 openai gpt-5.6 300 700 0 - 20 15",
      "1785600012000/p/m p m 1 - - - - - incomplete",
      "1785600014000/unknown/unknown unknown unknown - - - - 4 - incomplete",
      "1755600012000/openai/gpt-5 openai gpt-5 1 0 0 - 2 0",
    ],
    faults: { placeholder: 2, without_time: 1 },
  },
  {
    sample: "copilot",
    format: "copilot",
    entries: [
      "cp-1/claude-sonnet-5/5000,4000,500,200,40 github-copilot claude-sonnet-5 500 4000 500 - 160 40",
      "cp-1/claude-sonnet-5/8000,6500,700,300,60 github-copilot claude-sonnet-5 300 2500 200 - 80 20",
      "cp-1/__proto__/1,0,0,0,0 github-copilot __proto__ 1 0 0 - 0 0",
      "cp-1/claude-sonnet-5/10,0,0,3,0 github-copilot claude-sonnet-5 10 0 0 - 3 0",
    ],
    faults: { repeated_counter: 1, without_time: 1 },
  },
  {
    sample: "goose",
    format: "goose",
    entries: [
      "20260805_1 anthropic claude-sonnet-5 900 - - - 150 -",
      "20260805_2 unknown unknown 80 800 20 - 150 -",
      "20260805_5 unknown unknown 0 10 - - 1 - incomplete",
    ],
    faults: { placeholder: 3, without_time: 1, inconsistent: 1 },
  },
  {
    sample: "amp",
    format: "amp",
    entries: [
      "T-00000000-0000-4000-8000-000000000001/2 anthropic claude-sonnet-5 5 2000 100 - 60 -",
      "T-00000000-0000-4000-8000-000000000001/3 unknown unknown 5 - - - - - incomplete",
      "T-00000000-0000-4000-8000-000000000002/2 openai gpt-5 - - - - 60 - incomplete",
      "T-00000000-0000-4000-8000-000000000002/ev2 gemini gemini-3-pro - - - - 1 - incomplete",
      "T-00000000-0000-4000-8000-000000000002/ev3 unknown other - - - - 1 - incomplete",
    ],
    faults: { without_time: 2, cache_not_stated: 3 },
  },
  {
    sample: "cline",
    format: "cline",
    entries: [
      "1786000000000_a/n2 anthropic claude-sonnet-5 21 3 1 - 8 -",
      "1786000000000_a/1786000002000 unknown unknown 1 - - - 2 -",
      "file-session/z1 unknown unknown 1 - - - 2 -",
    ],
    faults: { without_time: 1, placeholder: 2 },
  },
  {
    sample: "roo",
    format: "roo",
    entries: [
      "file-session/1786100000000 unknown unknown 85 10 5 - 20 -",
      "file-session/1750000000000 unknown unknown 100 10 5 - 20 -",
      "file-session/1750000001000 unknown unknown 90 10 - - 20 -",
      "file-session/1786100001000 anthropic claude-sonnet-5 2 10 - - 20 -",
      "file-session/1786100004000 unknown unknown 1 - - - 1 -",
    ],
    faults: { hidden_model: 4, placeholder: 3, without_time: 1 },
  },
  {
    sample: "pi",
    format: "pi",
    entries: [
      "e1/1786154403000 anthropic claude-sonnet-5 5 2000 100 - 60 -",
      "/1786154406000 unknown unknown - - - - 4 - incomplete",
      "e3/1786154409000 unknown unknown 4 - - - - - incomplete",
    ],
    faults: { placeholder: 1, without_time: 1 },
  },
  {
    sample: "droid",
    format: "droid",
    entries: [
      "file-session anthropic claude-sonnet-5 500 300 40 - 68 12",
      "file-session unknown unknown 500 - - - 80 -",
      "file-session unknown unknown 500 - - - 0 80 incomplete",
    ],
    faults: { inconsistent: 1, placeholder: 3 },
  },
  {
    sample: "codex-fork",
    format: "codex",
    entries: [
      "thr-1/400,0,0,5,0 openai gpt-5.6 400 0 0 - 5 0",
      "thr-1/1000,400,0,10,0 openai gpt-5.6 200 400 0 - 5 0",
      "thr-2/7,0,0,1,0 openai gpt-5.6 7 0 0 - 1 0",
    ],
    faults: {},
  },
  {
    sample: "codex-old",
    format: "codex",
    entries: [
      "file-session/100,0,0,10,0 openai unknown 100 0 0 - 10 0",
      "file-session/250,90,0,30,0 openai unknown 60 90 0 - 20 0",
      "file-session/1757491212000/5,0,0,3,0 openai unknown 5 0 0 - 3 0",
      "file-session/40,0,0,2,0 openai unknown 40 0 0 - 2 0",
    ],
    faults: { repeated_counter: 2, interleaved_counter: 1 },
  },
];

describe("a reader", () => {
  for (const { sample, format, entries, faults } of SAMPLES) {
    it(`reads the sample ${sample}`, () => {
      const read = readLog(logFormatOf(format).reader, readSample(sample));
      assert.deepEqual(read.entries.map(summarise), entries);
      assert.deepEqual(read.faults, faults);
    });
  }

  it("has a sample of each format, or of the reader of another one", () => {
    const readers = new Set(SAMPLES.map(({ format }) => logFormatOf(format).reader));
    const same = new Set(["opencode_document", "kilo", "kilo_tasks", "cline_tasks"]);
    for (const [name, { reader }] of Object.entries(LOG_FORMATS))
      assert.ok(readers.has(reader) || same.has(name), name);
  });
});
