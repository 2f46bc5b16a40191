import type { Context } from "hono";
import { html } from "hono/html";
import type { CheckoutOrder } from "../../core/ports/checkout.ts";
import { PLANS, type Plan } from "../../core/values/plan.ts";
import {
  BILLING_PERIODS,
  type BillingPeriod,
  type CheckoutWording,
  checkoutConsentResponseSchema,
  checkoutWordingSchema,
} from "../../core/wire/consent.ts";
import { parseWire } from "../../core/wire/parse.ts";
import type { Html } from "../../pages/html.ts";
import { problem } from "../http/problem.ts";
import type { OrRefusal } from "../http/read-payload.ts";
import type { CloudEnv } from "../ports.ts";
import { findWorkspaceAccess } from "../store/workspaces.ts";
import { describeProblem } from "./describe-problem.ts";
import { notice, renderLayout } from "./layout.ts";
import { requireWorkspaceVisitor, type WorkspaceVisitor } from "./page-call.ts";
import { type PageEnv, readForm, redirectToSite, renderFormError } from "./page-parts.ts";
import { PLAN_NAMES } from "./plan-names.ts";

/** The values a form was sent with, rendered again with the error message. */
interface Choices {
  readonly plan: string;
  readonly period: string;
  readonly agreedTerms: boolean;
  readonly agreedImmediate: boolean;
}

const PERIOD_NAMES = { monthly: "Monthly", annual: "Annual" } as const;

/** `GET /w/{ws}/subscribe`. Decision: only the workspace's admins can subscribe. */
export async function getSubscribe(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const subscriber = await requireSubscriber(env, context);
  if (!subscriber.ok) return subscriber.refusal;
  const chosen = { plan: "team", period: "monthly", agreedTerms: false, agreedImmediate: false };
  return context.html(formPage(subscriber.value, await readWording(env, context), chosen, null));
}

/**
 * `POST /w/{ws}/subscribe`: records the consent through its endpoint, with the hash of the wording that this form showed, then
 * continues to the host's checkout if there is one.
 */
export async function postSubscribe(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const subscriber = await requireSubscriber(env, context);
  if (!subscriber.ok) return subscriber.refusal;
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const fields = form.value;
  const chosen: Choices = {
    plan: fields.get("plan") ?? "",
    period: fields.get("period") ?? "",
    agreedTerms: fields.get("agreed_terms") === "yes",
    agreedImmediate: fields.get("agreed_immediate") === "yes",
  };
  const answer = await env.callApi(context, "POST", "/v1/consent/checkout", {
    plan: chosen.plan,
    period: chosen.period,
    wording_hash: fields.get("wording_hash") ?? "",
    agreed_terms: chosen.agreedTerms,
    agreed_immediate: chosen.agreedImmediate,
  });
  if (!answer.ok) {
    if (answer.status !== 422) return answer;
    const wording = await readWording(env, context);
    return renderFormError(
      context,
      answer,
      formPage(subscriber.value, wording, chosen, await describeProblem(answer)),
    );
  }
  const recorded = parseWire(checkoutConsentResponseSchema, await answer.json());
  if (!recorded.ok) throw new TypeError("the consent API's answer does not match its schema");
  const { workspace, person } = subscriber.value;
  const order = {
    consentId: recorded.value.id,
    workspaceId: workspace.workspaceId,
    // The endpoint has validated both values.
    plan: chosen.plan as Plan,
    period: chosen.period as BillingPeriod,
    person,
    returnUrl: `${env.parts.config.baseUrl}/w/${workspace.workspaceId}`,
  };
  const address = (await env.parts.checkout?.(order)) ?? null;
  if (address === null)
    return context.html(donePage(await reloadWorkspace(env, subscriber.value), order, recorded.value));
  const onward = redirectToSite(context, address, (href) => redirectPage(subscriber.value, href));
  if (onward === null) throw new TypeError("the checkout returned no web address");
  return await onward;
}

/** Reads the workspace again: a checkout with nothing to pay may have changed its plan. */
async function reloadWorkspace({ parts }: PageEnv, subscriber: WorkspaceVisitor): Promise<WorkspaceVisitor> {
  const { person, workspace } = subscriber;
  const now = await findWorkspaceAccess(parts.db, person.userId, workspace.workspaceId);
  return now === null ? subscriber : { ...subscriber, workspace: now };
}

async function requireSubscriber(
  env: PageEnv,
  context: Context<CloudEnv>,
): Promise<OrRefusal<WorkspaceVisitor>> {
  const visitor = await requireWorkspaceVisitor(env, context, `/w/${context.req.param("ws")}/subscribe`);
  if (visitor.ok && visitor.value.workspace.role !== "admin")
    return { ok: false, refusal: problem("forbidden") };
  return visitor;
}

async function readWording({ callApi }: PageEnv, context: Context<CloudEnv>): Promise<CheckoutWording> {
  const answer = await callApi(context, "GET", "/v1/consent/checkout");
  const wording = parseWire(checkoutWordingSchema, await answer.json());
  if (!wording.ok) throw new TypeError("the wording API's answer does not match its schema");
  return wording.value;
}

function formPage(
  { person, workspace }: WorkspaceVisitor,
  wording: CheckoutWording,
  chosen: Choices,
  message: string | null,
): Html {
  // The hash covers every string, so every one is shown: the first two beside the checkboxes, the others below, in order.
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
  return renderLayout({
    title: "Subscribe",
    body,
    person,
  });
}

function redirectPage({ person }: WorkspaceVisitor, href: string): Html {
  const body = html`<section>
<h1>Subscribe</h1>
<p class="done" role="status">Your agreement is recorded.</p>
<p>Redirecting to the payment page.</p>
<p><a href="${href}">Continue to the payment page</a></p>
</section>`;
  return renderLayout({ title: "Subscribe", body, person });
}

function donePage(
  { person, workspace }: WorkspaceVisitor,
  { plan }: Pick<CheckoutOrder, "plan">,
  recorded: { readonly id: string; readonly timestamp: string },
): Html {
  const { workspaceId, name } = workspace;
  const isChanged = workspace.plan === plan;
  const body = html`<section>
<h1>Subscribe</h1>
<p class="done" role="status">Your agreement is recorded.${isChanged ? html` ${name} is on ${PLAN_NAMES[plan]}.` : ""}</p>
${isChanged ? "" : html`<p>The operator of this server will change the workspace to ${PLAN_NAMES[plan]}. Send them these details:</p>`}
<dl>
<dt>Reference</dt><dd>${recorded.id}</dd>
<dt>Recorded</dt><dd>${recorded.timestamp}</dd>
<dt>Workspace</dt><dd>${workspaceId}</dd>
</dl>
<p><a href="/w/${workspaceId}">Back to ${name}</a></p>
</section>`;
  return renderLayout({ title: "Subscribe", body, person });
}
