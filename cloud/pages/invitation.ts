import type { Context } from "hono";
import { html } from "hono/html";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import type { Html } from "../../pages/html.ts";
import { formatDate } from "../../pages/times.ts";
import { workspaceOfInvitation } from "../access/token.ts";
import type { CloudEnv } from "../ports.ts";
import { describeProblem } from "./describe-problem.ts";
import { withDone } from "./done-messages.ts";
import {
  type CookieInvitation,
  clearInvitationCookie,
  readInvitationCookie,
  setInvitationCookie,
} from "./invitation-cookie.ts";
import { field, notice, renderLayout } from "./layout.ts";
import { readLinkSecret } from "./link-script.ts";
import {
  findSignedInPerson,
  type PageEnv,
  readForm,
  redirectToSignIn,
  renderFormError,
} from "./page-parts.ts";

const INVITATION_PATH = "/invitation";

const INVALID_INVITATION = "This invitation is unknown, already used, revoked or expired. Ask for a new one.";

const ROLE_NAMES = { admin: "Admin", member: "Member" } as const;

/**
 * `GET /invitation`: shows the invitation of the cookie and the next step. The link in the email opens this page with the
 * token after the `#`, where the page's script reads it.
 */
export async function getInvitation({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const person = await findSignedInPerson(parts, context);
  const invitation = await readInvitationCookie(parts, context);
  if (invitation === null) {
    clearInvitationCookie(parts, context);
    return context.html(linkPage(person, null));
  }
  if (invitation.acceptedBy === null) return context.html(invitationPage(person, invitation, null));
  // For example, by signing up with it.
  clearInvitationCookie(parts, context);
  if (invitation.acceptedBy === person?.userId) return context.redirect(`/w/${invitation.workspaceId}`, 303);
  return context.html(linkPage(person, INVALID_INVITATION), 404);
}

/** `POST /invitation`: takes the link or its token, from the script or pasted, and redirects to the invitation. */
export async function postInvitationLink({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const token = readLinkSecret(form.value.get("link") ?? "");
  if (workspaceOfInvitation(token) === null) {
    const message = "This is not a complete invitation link.";
    return context.html(linkPage(await findSignedInPerson(parts, context), message), 422);
  }
  setInvitationCookie(parts, context, token);
  return context.redirect(INVITATION_PATH, 303);
}

/** `POST /invitation/accept`: accepts the invitation through the API, then redirects to the workspace. */
export async function postAcceptInvitation(
  { parts, callApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const person = await findSignedInPerson(parts, context);
  if (person === null) return redirectToSignIn(INVITATION_PATH);
  const invitation = await readInvitationCookie(parts, context);
  if (invitation === null) return context.html(linkPage(person, INVALID_INVITATION), 404);
  const answer = await callApi(context, "POST", "/v1/invitations/accept", { token: invitation.token });
  if (!answer.ok) {
    const message = await describeProblem(answer, { invitation_unknown: INVALID_INVITATION });
    return renderFormError(context, answer, invitationPage(person, invitation, message));
  }
  clearInvitationCookie(parts, context);
  return context.redirect(withDone(`/w/${invitation.workspaceId}`, "/", "workspace-joined"), 303);
}

/** Renders the form for an invitation link: the page's script fills it in, and a person without scripts can paste the link. */
function linkPage(person: AccountPerson | null, message: string | null): Html {
  const body = html`<section>
<h1>Open an invitation</h1>
${notice(message)}
<p>Paste the invitation link that you received.</p>
<form id="link-form" method="post" action="${INVITATION_PATH}">
${field({ name: "link", label: "Link", type: "text", autocomplete: "off", isFocused: true })}
<div class="actions"><button>Open</button></div>
</form>
</section>`;
  return renderLayout({ title: "Invitation", body, person, runsLinkScript: true });
}

function invitationPage(
  person: AccountPerson | null,
  invitation: CookieInvitation,
  message: string | null,
): Html {
  const body = html`<section>
<h1>You are invited</h1>
${notice(message)}
<dl>
<dt>Workspace</dt><dd>${invitation.workspaceName}</dd>
<dt>Organisation</dt><dd>${invitation.organisationName}</dd>
<dt>Role</dt><dd>${ROLE_NAMES[invitation.role]}</dd>
<dt>Email</dt><dd>${invitation.email}</dd>
<dt>Expires</dt><dd>${formatDate(invitation.expiresAt, "UTC")}</dd>
</dl>
${nextStep(person, invitation)}
<form id="link-form" method="post" action="${INVITATION_PATH}" hidden><input name="link"></form>
</section>`;
  return renderLayout({ title: "Invitation", body, person, runsLinkScript: true });
}

function nextStep(person: AccountPerson | null, { email }: CookieInvitation): Html {
  const next = encodeURIComponent(INVITATION_PATH);
  if (person === null) {
    return html`<p>To accept it, you need an account with this email address.</p>
<div class="actions">
<a class="button" href="/sign-up?next=${next}">Create an account</a>
<a class="button second" href="/sign-in?next=${next}">Sign in</a>
</div>`;
  }
  if (person.email !== email) {
    return html`<p class="notice">You are signed in as ${person.email ?? person.name}, but this invitation is for another email address.</p>
<form method="post" action="/sign-out">
<input type="hidden" name="next" value="${INVITATION_PATH}">
<div class="actions"><button>Sign out</button> <a class="button second" href="/">Not now</a></div>
</form>`;
  }
  return html`<form method="post" action="/invitation/accept">
<div class="actions"><button>Accept</button> <a class="button second" href="/">Not now</a></div>
</form>`;
}
