import type { Context } from "hono";
import { html } from "hono/html";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import type { CloudEnv } from "../ports.ts";
import { workspaceOfInvitation } from "../sync-token.ts";
import { dateOf } from "./format.ts";
import {
  type BroughtInvitation,
  broughtInvitation,
  forgetInvitation,
  keepInvitation,
} from "./invitation-cookie.ts";
import { field, layout, type Markup, notice } from "./layout.ts";
import { secretOf } from "./link-script.ts";
import { goToSignIn, type PageEnv, personOf, readForm, refuseForm } from "./page-parts.ts";
import { wordsOf } from "./refusal-words.ts";

const HERE = "/invitation";

const NOT_GOOD = "This invitation is unknown, used, taken back or older than a week. Ask for another one.";

const ROLE_NAMES = { admin: "Admin", member: "Member" } as const;

/**
 * `GET /invitation`: the invitation that was brought along, with what can be done about it. The letter's link leads here
 * too, with the token behind the `#`, where the page's script takes it from.
 */
export async function getInvitation({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const person = await personOf(parts, context);
  const invitation = await broughtInvitation(parts, context);
  if (invitation === null) {
    forgetInvitation(parts, context);
    return context.html(linkPage(person, null));
  }
  if (invitation.acceptedBy === null) return context.html(invitationPage(person, invitation, null));
  // By an account that was made with it, for instance.
  forgetInvitation(parts, context);
  if (invitation.acceptedBy === person?.userId) return context.redirect(`/w/${invitation.workspaceId}`, 303);
  return context.html(linkPage(person, NOT_GOOD), 404);
}

/** `POST /invitation`: takes the link or its token, from the script or as pasted, and shows the invitation. */
export async function postInvitationLink({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const token = secretOf(form.value.get("link") ?? "");
  if (workspaceOfInvitation(token) === null) {
    const message = "This is not the whole link of an invitation.";
    return context.html(linkPage(await personOf(parts, context), message), 422);
  }
  keepInvitation(parts, context, token);
  return context.redirect(HERE, 303);
}

/** `POST /invitation/accept`: through the API, then on to the workspace. */
export async function postInvitationAccepted(
  { parts, askApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const person = await personOf(parts, context);
  if (person === null) return goToSignIn(HERE);
  const invitation = await broughtInvitation(parts, context);
  if (invitation === null) return context.html(linkPage(person, NOT_GOOD), 404);
  const answer = await askApi(context, "POST", "/v1/invitations/accept", { token: invitation.token });
  if (!answer.ok) {
    const message = await wordsOf(answer, { invitation_unknown: NOT_GOOD });
    return refuseForm(context, answer, invitationPage(person, invitation, message));
  }
  forgetInvitation(parts, context);
  return context.redirect(`/w/${invitation.workspaceId}`, 303);
}

/** Where nothing was brought along: for the script, and for those who have none. */
function linkPage(person: AccountPerson | null, message: string | null): Markup {
  const body = html`<section>
<h1>Open an invitation</h1>
${notice(message)}
<p>Paste the link of the letter, or of whoever invited you.</p>
<form id="link-form" method="post" action="${HERE}">
${field({ name: "link", label: "Link", type: "text", autocomplete: "off", isFirst: true })}
<div class="actions"><button>Open</button></div>
</form>
</section>`;
  return layout({ title: "Invitation", body, person, shape: "card", takesLink: true });
}

function invitationPage(
  person: AccountPerson | null,
  invitation: BroughtInvitation,
  message: string | null,
): Markup {
  const body = html`<section>
<h1>You are invited</h1>
${notice(message)}
<dl>
<dt>Workspace</dt><dd>${invitation.workspaceName}</dd>
<dt>Organisation</dt><dd>${invitation.organisationName}</dd>
<dt>Role</dt><dd>${ROLE_NAMES[invitation.role]}</dd>
<dt>For</dt><dd>${invitation.email}</dd>
<dt>Good until</dt><dd>${dateOf(invitation.expiresAt)}</dd>
</dl>
${nextStep(person, invitation)}
<form id="link-form" method="post" action="${HERE}" hidden><input name="link"></form>
</section>`;
  return layout({ title: "Invitation", body, person, shape: "card", takesLink: true });
}

function nextStep(person: AccountPerson | null, { email }: BroughtInvitation): Markup {
  const next = encodeURIComponent(HERE);
  if (person === null) {
    return html`<p>It is for the account with that address.</p>
<div class="actions">
<a class="button" href="/sign-up?next=${next}">Create an account</a>
<a class="button second" href="/sign-in?next=${next}">Sign in</a>
</div>`;
  }
  if (person.email !== email) {
    return html`<p class="notice">You are signed in as ${person.email ?? person.name}, and the invitation is for another address.</p>
<form method="post" action="/sign-out">
<input type="hidden" name="next" value="${HERE}">
<div class="actions"><button>Sign out</button> <a class="button second" href="/">Not now</a></div>
</form>`;
  }
  return html`<form method="post" action="/invitation/accept">
<div class="actions"><button>Accept</button> <a class="button second" href="/">Not now</a></div>
</form>`;
}
