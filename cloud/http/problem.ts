import { DatabaseError } from "../../core/ports/postgres.ts";
import type { Plan } from "../../core/values/plan.ts";
import { errorName } from "../../core/values/text/describe-error.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { WireProblem } from "../../core/wire/parse.ts";
import { PROBLEM_MEDIA_TYPE } from "../../core/wire/problem-details.ts";

/** Every problem that the cloud answers with, by its stable code: the HTTP status and the title. */
const PROBLEMS = {
  not_json: [400, "The body is not valid JSON, or it is nested too deeply."],
  not_an_object: [400, "The body is not a JSON object."],
  invalid_base64: [400, "body_b64 is not valid Base64."],
  invalid_utf8: [400, "The body is not valid UTF-8."],
  cursor_invalid: [400, "The cursor does not belong to this workspace and query."],
  period_before_floor: [400, "The period begins before the retention floor."],
  unauthorised: [401, "A valid token is required."],
  scope_insufficient: [403, "The token's scope does not include this endpoint."],
  origin_refused: [403, "The request came from a page of another site."],
  not_the_sender: [403, "Only the machine and person that sent the request may add to it."],
  forbidden: [403, "You do not have permission to do this."],
  plan_required: [403, "The workspace's plan does not include this; it requires the plan in required_plan."],
  workspace_deleted: [403, "The workspace was deleted."],
  machine_blocked: [403, "The machine is blocked in this workspace; an administrator can invite it again."],
  not_a_member: [403, "The key's owner is no longer a member of the workspace."],
  not_found: [404, "Nothing was found at this address."],
  request_unknown: [404, "The workspace has no request with this id."],
  body_unknown: [404, "The request has no stored body, or it is older than the retention period."],
  invitation_unknown: [
    404,
    "The invitation is unknown, already used, expired, or for another email address.",
  ],
  pairing_unknown: [404, "No machine is waiting for this code."],
  workspace_ambiguous: [409, "Several of your workspaces have this request; choose one with workspace_id."],
  view_outdated: [409, "The body was replaced after the view was recorded; record a new view."],
  too_many_versions: [409, "The body has the maximum number of versions."],
  machine_in_use: [
    409,
    "The machine belongs to a current member of the workspace; its new user must pair it again.",
  ],
  machine_exists: [409, "That person already has this machine."],
  budget_exists: [409, "The workspace has a budget of that name."],
  too_many_budgets: [409, "The workspace has the maximum number of budgets."],
  view_exists: [409, "You have a saved view of that name."],
  too_many_views: [409, "You have the maximum number of saved views in this workspace."],
  sole_owner: [409, "The account is the only owner of an organisation that has other members."],
  last_owner: [409, "An organisation must have at least one owner."],
  too_many_organisations: [409, "The account owns the maximum number of organisations."],
  too_many_workspaces: [409, "The organisation has the maximum number of workspaces."],
  too_many_invitations: [409, "The workspace has the maximum number of pending invitations."],
  too_large: [413, "The request is larger than this endpoint accepts."],
  wrong_shape: [422, "The request does not match the endpoint's schema; see errors."],
  datetime_not_date: [422, "Expected a calendar date (YYYY-MM-DD), not a datetime."],
  date_malformed: [422, "Expected a calendar date (YYYY-MM-DD)."],
  period_reversed: [422, "The period ends before it begins."],
  period_malformed: [422, "Expected an ISO 8601 date or datetime."],
  period_too_long: [422, "The period is too long for this endpoint."],
  reason_missing: [
    422,
    "A reader who is not the author must give a reason of 1 to 2000 characters, or a view_id.",
  ],
  member_unknown: [422, "That person is not a member of the workspace."],
  view_unknown: [422, "The view_id is unknown, already used, expired, or belongs to another viewer."],
  subject_mismatch: [422, "The request does not belong to subject_user_id."],
  tick_missing: [422, "Both boxes must be ticked."],
  wording_unknown: [422, "The wording hash matches no wording that was shown."],
  request_not_synced: [425, "The request's metadata has not arrived yet."],
  body_key_unavailable: [425, "The key that encrypts these bodies is not available yet."],
  too_many_wrong_codes: [429, "Too many wrong codes; try again after the seconds in Retry-After."],
  too_many_emails: [
    429,
    "The address has received the maximum number of emails from this workspace in a day; try again after the seconds in Retry-After.",
  ],
  rate_limited: [429, "Too many requests; try again after the seconds in Retry-After."],
  internal: [500, "The cloud could not process the request."],
  unavailable: [503, "The cloud is temporarily unavailable."],
} as const satisfies Record<string, readonly [status: number, title: string]>;

/** The stable code of a problem. */
export type ProblemCode = keyof typeof PROBLEMS;

/** Additional members of some problems. */
export interface ProblemFacts {
  readonly errors?: readonly WireProblem[];
  readonly retryAfterSeconds?: number;
  /** With `period_before_floor`: the earliest instant that a query may ask for. */
  readonly floor?: Millis;
  /** With `plan_required`. */
  readonly requiredPlan?: Plan;
}

/** `Retry-After` while the database is unavailable, seconds. */
const UNAVAILABLE_RETRY_SECONDS = 5;

/** Creates an RFC 9457 response. */
export function problem(code: ProblemCode, facts: ProblemFacts = {}): Response {
  const [status, title] = PROBLEMS[code];
  const headers = new Headers({ "content-type": PROBLEM_MEDIA_TYPE, "cache-control": "no-store" });
  if (status === 401) headers.set("www-authenticate", 'Bearer realm="meter"');
  if (facts.retryAfterSeconds !== undefined) headers.set("retry-after", String(facts.retryAfterSeconds));
  const { errors, floor, requiredPlan } = facts;
  const body = {
    type: "about:blank",
    title,
    status,
    code,
    ...(floor === undefined ? {} : { floor: formatInstant(floor) }),
    ...(requiredPlan === undefined ? {} : { required_plan: requiredPlan }),
    ...(errors === undefined ? {} : { errors }),
  };
  return new Response(JSON.stringify(body), { status, headers });
}

/** Returns the answer to an unexpected failure, with the reason and code to log. */
export function problemOf(error: unknown): { answer: Response; reason: string; code: string | null } {
  if (!(error instanceof DatabaseError)) {
    const reason = errorName(error);
    return { answer: problem("internal"), reason, code: null };
  }
  const { reason, code } = error;
  const isTransient = reason === "unavailable" || reason === "timeout" || reason === "conflict";
  const answer = isTransient
    ? problem("unavailable", { retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS })
    : problem("internal");
  return { answer, reason, code };
}
