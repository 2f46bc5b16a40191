import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readReport, STATEMENT_APIS } from "../../../../cli/commands/reconcile/bill/read-statement-api.ts";
import type { CloudClientResult, CloudRequest } from "../../../../core/ports/cloud-client.ts";

const api = STATEMENT_APIS.anthropic!;
const KEY = "sk-ant-admin-secret";
const page = (day: number, next: string | null) => ({
  data: [
    {
      starting_at: `2026-05-${day}T00:00:00Z`,
      results: [
        { amount: "150", currency: "USD", cost_type: "tokens", model: "m", token_type: "output_tokens" },
      ],
    },
  ],
  has_more: next !== null,
  next_page: next,
});
const answer = (status: number, body: unknown): CloudClientResult => ({
  ...{ kind: "http", status, retryAfterMs: null, etag: null },
  body: new TextEncoder().encode(JSON.stringify(body)),
});

async function read(answers: (index: number) => CloudClientResult) {
  const sent: CloudRequest[] = [];
  const dates: string[] = [];
  const client = { send: async (request: CloudRequest) => answers(sent.push(request) - 1) };
  const [report = ""] = api.reports("2026-05-01", "2026-05-31");
  await readReport(client, api, KEY, report, ({ date }) => dates.push(date));
  return { sent, dates };
}

describe("readReport()", () => {
  it("follows pages to the last, with the key in the header only", async () => {
    const { sent, dates } = await read((index) =>
      answer(200, page(11 + index, index < 2 ? `p=${index}&` : null)),
    );
    assert.deepEqual(dates, ["2026-05-11", "2026-05-12", "2026-05-13"]);
    const [first, , third] = sent;
    assert.match(
      first!.url,
      /^https:\/\/api\.anthropic\.com\/v1\/organizations\/cost_report\?starting_at=2026-05-01T00:00:00Z&ending_at=2026-06-01T00:00:00Z/,
    );
    assert.ok(third!.url.endsWith("&page=p%3D1%26"));
    assert.ok(sent.every(({ headers, url }) => headers?.["x-api-key"] === KEY && !url.includes(KEY)));
  });

  it("ends with a message without the key", async () => {
    const failures: [(index: number) => CloudClientResult, RegExp][] = [
      [() => answer(401, {}), /rejected the key in ANTHROPIC_ADMIN_API_KEY \(HTTP 401\)/],
      [() => answer(500, {}), /cost_report answered with HTTP 500/],
      [() => ({ kind: "transport", reason: "tls_failure" }), /cost_report: tls failure/],
      [() => answer(200, "x"), /is not a page/],
      [() => answer(200, page(11, "again")), /more than 200 pages/],
    ];
    for (const [answers, message] of failures)
      await assert.rejects(
        read(answers),
        (cause: Error) => message.test(cause.message) && !cause.message.includes(KEY),
      );
  });
});
