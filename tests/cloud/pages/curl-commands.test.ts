import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import { serve } from "../../../adapters/http/serve.ts";
import { WORKSPACE_PAGES } from "../../../cloud/pages/workspace-pages.ts";
import { formatPicoUsd } from "../../../core/pricing/money.ts";
import { batch, type CloudRig, createRig, json, record } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { type PageVisitor, visitPages } from "./pages.rig.ts";

const run = promisify(execFile);

const SESSION = "a".repeat(32);

/** Redirects and files, which print no command. */
const WITHOUT_COMMAND = ["/statement", "/audit", "/privacy/erasures/:id"];

/** Pages without a JSON file. */
const WITHOUT_FILE = ["/views", "/settings", "/audit/verification"];

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns what an answer has in common with another: the members that both have, in each object. */
function inBoth(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return one.map((each, n) => inBoth(each, other[n]));
  if (!isObject(one) || !isObject(other)) return one;
  // The page's query states its zone.
  const names = Object.keys(one).filter((name) => name in other && name !== "query");
  return Object.fromEntries(names.map((name) => [name, inBoth(one[name], other[name])]));
}

describeOnOneEngine("the curl command of a page", (engine) => {
  let rig: CloudRig;
  let served: Awaited<ReturnType<typeof serve>>;
  let visitor: PageVisitor;
  let requestId: string;
  let env: NodeJS.ProcessEnv;
  before(async () => {
    let app: ReturnType<CloudRig["app"]> | null = null;
    served = await serve(
      (request, peer) => app?.fetch(request, peer) ?? new Response(null, { status: 503 }),
      { host: "127.0.0.1", port: 0 },
    );
    const baseUrl = `http://127.0.0.1:${served.port}`;
    const config = { baseUrl, rateLimits: { perKey: 1e6, perUser: 1e6 } };
    rig = await createRig(engine, { config });
    app = rig.app(config);
    const workspace = await rig.addWorkspace({ plan: "business" });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    env = {
      ...process.env,
      METER_ADMIN_KEY: await rig.addKey(workspace, { scope: "admin", userId: admin.userId }),
    };
    visitor = visitPages(app, workspace, admin, baseUrl);
    requestId = rig.uuid();
    const counted = {
      prompt_tokens: 1_000,
      completion_tokens: 100,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    };
    const complete = { ...counted, thinking_tokens: 0, tokens_complete: true, http_status: 200 };
    const session = { session_id: SESSION, session_source: "stated", billing_mode: "metered" };
    const records = ["it's & so on", "another"].map((project, n) =>
      record(n === 0 ? requestId : rig.uuid(), { ...complete, ...session, project }),
    );
    const sent = await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records)));
    assert.equal(sent.accepted, 2);
  });
  after(async () => {
    await served?.close(0);
    await rig?.close();
  });

  /** Runs what a page says, in a shell. Returns the page and the answer. */
  async function runCurl(path: string): Promise<{ page: string; answer: Json }> {
    const page = await visitor.read(path);
    const [, written = ""] = /data-copy="(curl [^"]*)"/.exec(page) ?? [];
    assert.notEqual(written, "", `${path} prints no command`);
    const command = written.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
    const { stdout } = await run("sh", ["-c", command], { env });
    const answer: Json = JSON.parse(stdout);
    assert.equal(answer.code, undefined, `${path}: ${stdout}`);
    return { page, answer };
  }

  it("runs on every page, and its answer has the figures of the page's file", async () => {
    const paths = WORKSPACE_PAGES.flat()
      .filter(({ get, path }) => get !== undefined && !WITHOUT_COMMAND.includes(path))
      .map(({ path }) =>
        path
          .replace(/^\/$/, "")
          .replace("sessions/:id", `sessions/${SESSION}`)
          .replace("requests/:id", `requests/${requestId}`)
          .replace(":month", "2026-11"),
      );
    for (const path of paths) {
      const { page, answer } = await runCurl(path);
      const [, href = ""] = /href="\/w\/[0-9a-f-]+([^"]*format=json)"/.exec(page) ?? [];
      assert.equal(href === "", WITHOUT_FILE.includes(path), `${path}: ${href}`);
      if (href === "") continue;
      const { request, ...file } = JSON.parse(await visitor.read(href.replaceAll("&amp;", "&")));
      // The file of a session lists its requests as that of a list does.
      const shown = request ?? (path.startsWith("/sessions/") ? { requests: file.items } : file);
      const shared = inBoth(shown, answer);
      assert.notDeepEqual(shared, {}, path);
      assert.deepEqual(shared, inBoth(answer, shown), path);
    }
  });

  it("has the filters of the page, whatever their characters", async () => {
    const filter = "?project=it%27s+%26+so+on";
    const { page, answer } = await runCurl(filter);
    const { requests, spent_pico_usd } = answer.totals as { requests: number; spent_pico_usd: string };
    assert.equal(requests, 1);
    const [, spent] = /<dt>Spent<\/dt><dd.*?<data value="([^"]*)"/.exec(page) ?? [];
    assert.deepEqual([spent, spent_pico_usd], [formatPicoUsd(BigInt(spent_pico_usd)), "3500000000"]);
    const list = await runCurl(`/requests${filter}`);
    assert.deepEqual(
      (list.answer.items as { request_id: string }[]).map(({ request_id }) => request_id),
      [requestId],
    );
  });
});
