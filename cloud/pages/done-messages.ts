import { html } from "hono/html";
import type { Html } from "../../pages/html.ts";

/** What the forms of each page do, by the code in the address that a form redirects to. No text from an address is ever shown. */
const DONE_MESSAGES = {
  "/": {
    "organisation-created": "The organisation and its first workspace are created.",
    "workspace-created": "The workspace is created.",
    "workspace-joined": "You are now a member of this workspace.",
    "workspace-left": "You have left the workspace.",
    "workspace-deleted": "The workspace is deleted. Its data is erased about 30 days from now.",
  },
  "/account": {
    "summary-on": "The weekly summary is on. It is sent on Monday.",
    "summary-off": "The weekly summary is off.",
  },
  "/budgets": {
    create: "The budget is set. Machines apply it within about a minute.",
    change: "The budget is changed. Machines apply the change within about a minute.",
    pause: "The budget is paused. Machines apply this within about a minute.",
    resume: "The budget applies again. Machines apply it within about a minute.",
    lift: "The budget is lifted. Machines apply this within about a minute.",
    remove: "The budget is removed. Machines apply this within about a minute.",
  },
  "/keys": { revoke: "The key is revoked." },
  "/machines": {
    rename: "The name of the machine is saved.",
    give: "The machine is now used by the person that you chose.",
    block: "The machine is blocked. What it sends is refused.",
    unblock: "The machine is no longer blocked.",
  },
  "/members": {
    revoke: "The invitation is revoked. Its link no longer works.",
    role: "The role is changed.",
    remove: "The person is no longer a member of this workspace.",
  },
  "/organisations": {
    role: "The role is changed.",
    remove: "The person is no longer a member of this organisation.",
  },
  "/privacy": {
    erase: "The prompts and answers are erased.",
    "erase-none": "Nothing of that person or project was stored, so nothing was erased.",
  },
  "/settings": {
    zone: "The time zone is saved.",
    "bodies-on": "From now on, the prompts and answers that machines send are stored.",
    "bodies-off": "From now on, no prompt or answer is stored.",
    retention: "The retention is saved.",
  },
  "/sign-in": {
    "account-deleted": "Your account is deleted. Its data is erased about 30 days from now.",
    "password-set":
      "Your new password is set, and you were signed out on all devices. Sign in with the new password.",
  },
  "/views": {
    save: "The view is saved. It is in the Views menu of its page.",
    change: "The view is changed.",
    delete: "The view is deleted.",
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A page whose forms say what they did. */
export type DonePage = keyof typeof DONE_MESSAGES;

/** What a form of the page did. */
export type DoneCode<Page extends DonePage> = keyof (typeof DONE_MESSAGES)[Page] & string;

/** The key of an address that has the code. */
const KEY = "done";

/** Returns the address of a page with the code of what its form did. `href` has no query. */
export const withDone = <Page extends DonePage>(href: string, _page: Page, code: DoneCode<Page>): string =>
  `${href}?${KEY}=${code}`;

/** Takes the code out of the parameters of an address. Returns the message; null without a code that forms of the page have. */
export function takeDone(page: string, parameters: URLSearchParams): string | null {
  const code = parameters.get(KEY) ?? "";
  parameters.delete(KEY);
  const messages: Readonly<Record<string, Readonly<Record<string, string>>>> = DONE_MESSAGES;
  const known = Object.hasOwn(messages, page) ? messages[page] : undefined;
  return known !== undefined && Object.hasOwn(known, code) ? (known[code] ?? null) : null;
}

/** Returns the address of a page that shows what the parameters of another address of the same page say. */
export function passDoneOn(href: string, page: DonePage, parameters: URLSearchParams): string {
  const code = parameters.get(KEY) ?? "";
  return takeDone(page, parameters) === null ? href : `${href}?${KEY}=${code}`;
}

/** Renders what a form did. Empty for null. */
export const renderDone = (message: string | null): Html | "" =>
  message === null ? "" : html`<p class="done" role="status">${message}</p>`;
