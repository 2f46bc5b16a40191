import type { Context } from "hono";
import { html } from "hono/html";
import { PLANS, type Plan } from "../../core/plans/mod.ts";
import type { CheckoutOrder } from "../../core/ports/checkout.ts";
import {
  BILLING_PERIODS,
  type BillingPeriod,
  type CheckoutWording,
  checkoutConsentAnswerSchema,
  checkoutWordingSchema,
  parseWire,
} from "../../core/wire/mod.ts";
import { problem } from "../errors.ts";
import type { CloudEnv } from "../ports.ts";
import type { Reading } from "../read-payload.ts";
import { findWorkspaceAccess } from "../store/workspaces.ts";
import { PLAN_NAMES } from "./format.ts";
import { layout, type Markup, notice } from "./layout.ts";
import { type PageEnv, readForm, refuseForm, sendOnward } from "./page-parts.ts";
import { wordsOf } from "./refusal-words.ts";
import { type WorkspaceVisitor, workspaceVisitorOf } from "./workspace-page.ts";

/** What a form was sent with, shown again beside the reason why it was refused. */
interface Chosen {
  readonly plan: string;
  readonly period: string;
  readonly agreedTerms: boolean;
  readonly agreedImmediate: boolean;
}

const PERIOD_NAMES = { monthly: "Monthly", annual: "Annual" } as const;

/** `GET /w/{ws}/subscribe`. Decision: for the workspace's admins, whose plan it becomes. */
export async function getSubscribe(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const subscriber = await subscriberOf(env, context);
  if (!subscriber.ok) return subscriber.refusal;
  const chosen = { plan: "team", period: "monthly", agreedTerms: false, agreedImmediate: false };
  return context.html(formPage(subscriber.value, await wordingNow(env, context), chosen, null));
}

/**
 * `POST /w/{ws}/subscribe`: through the consent endpoint, with the hash of the words that this form showed; then on to the
 * host's checkout, where there is one.
 */
export async function postSubscribe(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const subscriber = await subscriberOf(env, context);
  if (!subscriber.ok) return subscriber.refusal;
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const fields = form.value;
  const chosen: Chosen = {
    plan: fields.get("plan") ?? "",
    period: fields.get("period") ?? "",
    agreedTerms: fields.get("agreed_terms") === "yes",
    agreedImmediate: fields.get("agreed_immediate") === "yes",
  };
  const answer = await env.askApi(context, "POST", "/v1/consent/checkout", {
    plan: chosen.plan,
    period: chosen.period,
    wording_hash: fields.get("wording_hash") ?? "",
    agreed_terms: chosen.agreedTerms,
    agreed_immediate: chosen.agreedImmediate,
  });
  if (!answer.ok) {
    if (answer.status !== 422) return answer;
    const wording = await wordingNow(env, context);
    return refuseForm(context, answer, formPage(subscriber.value, wording, chosen, await wordsOf(answer)));
  }
  const recorded = parseWire(checkoutConsentAnswerSchema, await answer.json());
  if (!recorded.ok) throw new TypeError("the consent's answer is not what its schema says");
  const { workspace, person } = subscriber.value;
  const order = {
    consentId: recorded.value.id,
    workspaceId: workspace.workspaceId,
    // What the endpoint took is one of these.
    plan: chosen.plan as Plan,
    period: chosen.period as BillingPeriod,
    person,
    returnUrl: `${env.parts.config.baseUrl}/w/${workspace.workspaceId}`,
  };
  const address = (await env.parts.checkout?.(order)) ?? null;
  if (address === null)
    return context.html(donePage(await afresh(env, subscriber.value), order, recorded.value));
  const onward = sendOnward(context, address, (href) => onwardPage(subscriber.value, href));
  if (onward === null) throw new TypeError("the checkout gave no address of a page");
  return await onward;
}

/** As the workspace is now: a checkout with nothing to pay may have changed its plan. */
async function afresh({ parts }: PageEnv, subscriber: WorkspaceVisitor): Promise<WorkspaceVisitor> {
  const { person, workspace } = subscriber;
  const now = await findWorkspaceAccess(parts.db, person.userId, workspace.workspaceId);
  return now === null ? subscriber : { ...subscriber, workspace: now };
}

async function subscriberOf(env: PageEnv, context: Context<CloudEnv>): Promise<Reading<WorkspaceVisitor>> {
  const visitor = await workspaceVisitorOf(env, context, `/w/${context.req.param("ws")}/subscribe`);
  if (visitor.ok && visitor.value.workspace.role !== "admin")
    return { ok: false, refusal: problem("forbidden") };
  return visitor;
}

async function wordingNow({ askApi }: PageEnv, context: Context<CloudEnv>): Promise<CheckoutWording> {
  const answer = await askApi(context, "GET", "/v1/consent/checkout");
  const wording = parseWire(checkoutWordingSchema, await answer.json());
  if (!wording.ok) throw new TypeError("the wording is not what its schema says");
  return wording.value;
}

function formPage(
  { person, workspaces, workspace }: WorkspaceVisitor,
  wording: CheckoutWording,
  chosen: Chosen,
  message: string | null,
): Markup {
  // The hash covers every string, so every one is shown: two beside the boxes, any other below, in their order.
  const [terms = "", immediate = "", ...others] = wording.strings;
  const checked = (is: boolean) => (is ? "checked" : "");
  const radio = (name: string, value: string, label: string, is: boolean) =>
    html`<label class="choice"><input type="radio" name="${name}" value="${value}" required ${checked(is)}><span>${label}</span></label>`;
  const box = (name: string, text: string, is: boolean) =>
    html`<label class="choice"><input type="checkbox" name="${name}" value="yes" required ${checked(is)}><span>${text}</span></label>`;
  const body = html`<section>
<h1>Subscribe</h1>
<p class="quiet">${workspace.name} is on ${PLAN_NAMES[workspace.plan]}.</p>
${notice(message)}
<form method="post" action="/w/${workspace.workspaceId}/subscribe">
<input type="hidden" name="wording_hash" value="${wording.wording_hash}">
<fieldset><legend>Plan</legend><div class="row">${PLANS.map((plan) => radio("plan", plan, PLAN_NAMES[plan], plan === chosen.plan))}</div></fieldset>
<fieldset><legend>Billing</legend><div class="row">${BILLING_PERIODS.map((period) => radio("period", period, PERIOD_NAMES[period], period === chosen.period))}</div></fieldset>
<fieldset><legend>Your agreement</legend>
${box("agreed_terms", terms, chosen.agreedTerms)}
${box("agreed_immediate", immediate, chosen.agreedImmediate)}
${others.map((text) => html`<p>${text}</p>`)}
</fieldset>
<div class="actions"><button>Agree and continue</button></div>
</form>
<p><a href="/w/${workspace.workspaceId}">Back to ${workspace.name}</a></p>
</section>`;
  return layout({
    title: "Subscribe",
    body,
    person,
    workspaces,
    workspaceId: workspace.workspaceId,
    shape: "card",
  });
}

function onwardPage({ person, workspaces, workspace }: WorkspaceVisitor, href: string): Markup {
  const body = html`<section>
<h1>Subscribe</h1>
<p class="done" role="status">Your agreement is recorded.</p>
<p>You are being sent to the payment page.</p>
<p><a href="${href}">Continue to the payment page</a></p>
</section>`;
  const { workspaceId } = workspace;
  return layout({ title: "Subscribe", body, person, workspaces, workspaceId, shape: "card" });
}

function donePage(
  { person, workspaces, workspace }: WorkspaceVisitor,
  { plan }: Pick<CheckoutOrder, "plan">,
  recorded: { readonly id: string; readonly timestamp: string },
): Markup {
  const { workspaceId, name } = workspace;
  const isChanged = workspace.plan === plan;
  const body = html`<section>
<h1>Subscribe</h1>
<p class="done" role="status">Your agreement is recorded.${isChanged ? html` ${name} is on ${PLAN_NAMES[plan]}.` : ""}</p>
${isChanged ? "" : html`<p>Whoever runs this server puts the workspace on ${PLAN_NAMES[plan]}. Tell them these:</p>`}
<dl>
<dt>Reference</dt><dd>${recorded.id}</dd>
<dt>Recorded</dt><dd>${recorded.timestamp}</dd>
<dt>Workspace</dt><dd>${workspaceId}</dd>
</dl>
<p><a href="/w/${workspaceId}">Back to ${name}</a></p>
</section>`;
  return layout({ title: "Subscribe", body, person, workspaces, workspaceId, shape: "card" });
}
