import { after, before, it } from "node:test";
import { DAY_MS } from "../../../core/values/time.ts";
import { checkRandomSums } from "../../pages/page-sums.rig.ts";
import { batch, type CloudRig, createRig, json, record, START } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { type PageVisitor, visitPages } from "./pages.rig.ts";

const BASE = "http://127.0.0.1:8787";
const config = { baseUrl: BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };

const FILTERS = [
  ...["project=p1", "project=p1&project=p2", "project.not=p3", "model=gpt-4o", "model.not=gpt-4o"],
  ...[
    "branch=b1",
    "branch=",
    "status=failed",
    "cost=unpriced",
    "billing=plan",
    "kind=other",
    "person.not=none",
  ],
];

describeOnOneEngine("the figures of a workspace's pages", (engine) => {
  let rig: CloudRig;
  let visitor: PageVisitor;
  let usage: (query: string) => ReturnType<typeof json>;
  before(async () => {
    rig = await createRig(engine, { config });
    const workspace = await rig.addWorkspace({ plan: "team" });
    const member = await rig.personIn(workspace, "member");
    const calls = Array.from({ length: 90 }, (_, n) =>
      record(rig.uuid(), {
        requested_at: new Date(START - (n % 28) * DAY_MS - n * 1_000).toISOString(),
        model: ["gpt-4o", "gpt-4o-mini", "a-model-without-a-price"][n % 3],
        project: n % 7 === 0 ? null : `p${n % 5}`,
        git_branch: n % 4 === 0 ? null : `b${n % 4}`,
        billing_mode: ["metered", "plan", "metered"][n % 3],
        ...{ prompt_tokens: 1_000 * n, completion_tokens: 100, cache_read_tokens: 0, cache_write_tokens: 0 },
        ...{ thinking_tokens: 0, tokens_complete: true },
        ...(n % 17 === 0 ? { http_status: 429, error_class: "rate_limit" } : { http_status: 200 }),
      }),
    );
    await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(...calls)));
    visitor = visitPages(rig.app(config), workspace, member, BASE);
    usage = (query) => json(rig.call("GET", `/v1/workspaces/${workspace.id}/usage?${query}`, member.token));
  });
  after(() => rig.close());

  it("add up to the answer of the API on every page and in every file, for random queries", async () => {
    const host = {
      page: (path: string) => visitor.read(path.replace(/^\/\?/, "?")),
      usage,
      dimensions: ["project", "model", "provider", "machine", "branch", "billing", "status", "kind"],
      breakdowns: ["Projects", "Models", "People", "Machines"],
    };
    await checkRandomSums(host, FILTERS, 6);
  });
});
