import { html } from "hono/html";
import { checkPlan, PLAN_TABLE } from "../../core/privacy/plans/plan-table.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { RETENTION_DAYS_MAX } from "../../core/wire/settings.ts";
import type { Html } from "../../pages/html.ts";
import { renderUnread } from "../../pages/page-parts.ts";
import { renderActionForm, renderSelect } from "./action-form.ts";
import { withDone } from "./done-messages.ts";
import { notice } from "./layout.ts";
import { type FormRoute, readMembersPart, sendForm } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { redirectTo } from "./page-parts.ts";
import { toolsOf } from "./page-tools.ts";
import { PLAN_NAMES } from "./plan-names.ts";
import { sellsPlans } from "./sells-plans.ts";

const PATH = "/settings";

/** `GET /w/{ws}/settings`: the zone, stored bodies, retention and the plan. */
export const showSettings = (call: PageCall): Promise<PageAnswer> => renderSettings(call, null);

/** `POST /w/{ws}/settings`: changes settings, leaves the workspace or deletes it. */
export async function changeSettings(call: PageCall, form: URLSearchParams): Promise<PageAnswer> {
  const action = form.get("action");
  if (action === "delete" && form.get("name")?.trim() !== call.workspace.name.trim())
    return await renderSettings(call, "That is not the name of this workspace. Nothing was deleted.");
  const again = (message: string | null) => renderSettings(call, message);
  const end = endOf(action, call);
  if (end === null) return await sendForm(call, PATH, routeOf(action, form), again);
  const answer = await sendForm(call, "/", end, again);
  // The workspace can no longer be opened.
  return answer instanceof Response && answer.status === 303
    ? redirectTo(withDone("/", "/", end.done))
    : answer;
}

/** Returns the route that ends the visitor's access to the workspace; null for the other forms. */
function endOf(action: string | null, { person }: Pick<PageCall, "person">): FormRoute<"/"> | null {
  if (action === "delete") return { method: "DELETE", path: "", done: "workspace-deleted" };
  if (action !== "leave") return null;
  return { method: "DELETE", path: `/members/${encodeURIComponent(person.userId)}`, done: "workspace-left" };
}

function routeOf(action: string | null, form: URLSearchParams): FormRoute<typeof PATH> | null {
  switch (action) {
    case "zone":
      return {
        method: "PATCH",
        path: "/settings",
        body: { reporting_zone: form.get("zone") ?? "" },
        done: action,
      };
    case "bodies":
      return {
        method: "PATCH",
        path: "/settings",
        body: { store_prompt_content: form.get("store") === "yes" },
        done: form.get("store") === "yes" ? "bodies-on" : "bodies-off",
      };
    case "retention": {
      const days = (name: string) => Number(form.get(name));
      const body = { data_retention_days: days("data"), audit_log_retention_days: days("audit") };
      return { method: "PATCH", path: "/settings/advanced", body, done: action };
    }
    default:
      return null;
  }
}

async function renderSettings(call: PageCall, message: string | null): Promise<PageAnswer> {
  const members = await readMembersPart(call, null);
  const self = members?.items.find((member) => member.user_id === call.person.userId);
  const isAdmin = call.workspace.role === "admin";
  const main = html`${notice(message)}
${renderZone(call, isAdmin)}
${renderBodies(call, isAdmin)}
${renderRetention(call, isAdmin)}
${renderPlan(call, isAdmin)}
${renderLeaving(call, members === null ? null : self?.via === "workspace")}`;
  return {
    heading: "Settings",
    path: PATH,
    main,
    tools: toolsOf(call, "/settings", {}),
    status: message === null ? 200 : 422,
  };
}

const panel = (id: string, title: string, body: Html): Html =>
  html`<section class="panel" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>${body}</section>`;

const BY_ADMIN = "An administrator of the workspace can change this.";

function renderZone(call: PageCall, isAdmin: boolean): Html {
  const { reportingZone } = call.workspace;
  const zones = [...new Set(["UTC", reportingZone, ...Intl.supportedValuesOf("timeZone")])].map(
    (zone) => [zone, zone] as const,
  );
  const form = renderActionForm(
    call,
    PATH,
    { action: "zone" },
    html`${renderSelect("zone", "Time zone", zones, reportingZone)}<div class="actions"><button>Save the time zone</button></div>`,
  );
  return panel(
    "zone",
    "Time zone of days",
    html`<p>Days, weeks and months begin in <strong>${reportingZone}</strong> for all readers of this workspace.</p>${isAdmin ? form : html`<p class="quiet">${BY_ADMIN}</p>`}`,
  );
}

function renderBodies(call: PageCall, isAdmin: boolean): Html {
  const { storePromptContent } = call.workspace;
  const form = renderActionForm(
    call,
    PATH,
    { action: "bodies", store: storePromptContent ? "no" : "yes" },
    html`<div class="actions"><button class="${storePromptContent ? "danger" : "second"}">${storePromptContent ? "Stop storing prompts and answers" : "Store prompts and answers"}</button></div>`,
  );
  const state = storePromptContent
    ? html`<p><strong>On.</strong> The redacted prompts and answers that machines send are stored. Stored ones stay if you turn this off; erase them on the page <a href="${call.place.base}/privacy">Privacy</a>.</p>`
    : html`<p><strong>Off.</strong> No prompt or answer is stored, even if a machine sends one.</p>`;
  return panel(
    "bodies",
    "Prompts and answers",
    html`${state}${isAdmin ? form : html`<p class="quiet">${BY_ADMIN}</p>`}`,
  );
}

function renderRetention(call: PageCall, isAdmin: boolean): Html {
  const { plan, dataRetentionDays, auditLogRetentionDays } = call.workspace;
  const { tracesWindowDays } = PLAN_TABLE[plan];
  const verdict = checkPlan(plan, "advancedSettings");
  const field = (name: string, label: string, days: number) =>
    html`<label for="${name}">${label}</label><input id="${name}" name="${name}" type="number" inputmode="numeric" min="1" max="${RETENTION_DAYS_MAX}" value="${days}" required>`;
  const form = renderActionForm(
    call,
    PATH,
    { action: "retention" },
    html`${field("data", "Days of requests and totals", dataRetentionDays)}${field("audit", "Days of the audit log", auditLogRetentionDays)}<div class="actions"><button>Save the retention</button></div>`,
  );
  const change = !verdict.ok
    ? html`<p class="quiet">${PLAN_NAMES[verdict.requiredPlan]} and higher plans can change the retention.</p>`
    : isAdmin
      ? form
      : html`<p class="quiet">${BY_ADMIN}</p>`;
  return panel(
    "retention",
    "Retention",
    html`<dl class="facts"><dt>Totals</dt><dd>${formatQuantity(dataRetentionDays, "day", "days")}</dd><dt>Single requests</dt><dd>${formatQuantity(Math.min(tracesWindowDays, dataRetentionDays), "day", "days")}, ${PLAN_NAMES[plan]}</dd><dt>Audit log</dt><dd>${formatQuantity(auditLogRetentionDays, "day", "days")}</dd></dl>
<p class="quiet">Pages and the API read no further back than this. It deletes nothing.</p>${change}`,
  );
}

function renderPlan(call: PageCall, isAdmin: boolean): Html {
  const { plan } = call.workspace;
  const change = sellsPlans(call.env.parts.config)
    ? isAdmin
      ? html`<p><a href="${call.place.base}/subscribe">Change the plan</a></p>`
      : html`<p class="quiet">${BY_ADMIN}</p>`
    : html`<p class="quiet">The operator of this server changes plans.</p>`;
  return panel(
    "plan",
    "Plan",
    html`<p>This workspace is on <strong>${PLAN_NAMES[plan]}</strong>.</p>${change}`,
  );
}

function renderLeaving(call: PageCall, isMember: boolean | null): Html {
  const { workspace } = call;
  const leave = html`<p>Your keys and machines here stop working. Your requests stay in the workspace's totals.</p>${renderActionForm(
    call,
    PATH,
    { action: "leave" },
    html`<div class="actions"><button class="danger">Leave this workspace</button></div>`,
  )}`;
  const remove = renderActionForm(
    call,
    PATH,
    { action: "delete" },
    html`<label for="name">Name of the workspace</label><input id="name" name="name" type="text" autocomplete="off" required aria-describedby="delete-hint"><p class="hint" id="delete-hint">Type <bdi>${workspace.name}</bdi> to confirm.</p><div class="actions"><button class="danger">Delete the workspace</button></div>`,
  );
  const deletion = panel(
    "delete",
    "Delete this workspace",
    html`<p>It stops serving its members and machines at once. All of its data is erased about 30 days later.</p>${remove}`,
  );
  return html`${panel("leave", "Leave", isMember === null ? renderUnread("members") : isMember ? leave : html`<p class="quiet">Your role in the organisation gives you access to this workspace, so you can't leave it.</p>`)}${workspace.isOrganisationOwner ? deletion : ""}`;
}
