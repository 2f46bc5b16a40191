import type { Plan } from "../core/plans/mod.ts";
import { DatabaseError } from "../core/ports/postgres.ts";
import type { Millis } from "../core/time.ts";
import { formatInstant, PROBLEM_MEDIA_TYPE, type WireProblem } from "../core/wire/mod.ts";

/** Every refusal of the cloud: its stable code, the status, and what it means to a person. Nothing else makes statuses. */
const PROBLEMS = {
  not_json: [400, "The body is not JSON, or nests too deeply."],
  not_an_object: [400, "The body is not a JSON object of this endpoint."],
  invalid_base64: [400, "body_b64 is not valid Base64."],
  invalid_utf8: [400, "The body is not valid UTF-8."],
  cursor_invalid: [400, "The cursor is not one of this workspace and query."],
  period_before_floor: [400, "The period begins before the retention floor."],
  unauthorised: [401, "A valid token is needed."],
  scope_insufficient: [403, "The token's scope does not reach this endpoint."],
  origin_refused: [403, "A page of another site made the request."],
  forbidden: [403, "The caller's role does not reach this."],
  plan_required: [403, "The workspace's plan does not include this; required_plan does."],
  workspace_deleted: [403, "The workspace was deleted."],
  machine_blocked: [403, "The machine is not permitted in the workspace; its owner can invite it again."],
  not_a_member: [403, "The key's owner is no longer a member of the workspace."],
  not_found: [404, "There is nothing at this address."],
  request_unknown: [404, "The workspace has no such request."],
  body_unknown: [404, "The request has no stored body within reach."],
  invitation_unknown: [404, "The invitation is unknown, used, ended, or for another address."],
  pairing_unknown: [404, "No machine waits under this code."],
  workspace_ambiguous: [
    409,
    "Several of your workspaces have this request; workspace_id says which one is meant.",
  ],
  sole_owner: [409, "The account is the only owner of an organisation with other people."],
  last_owner: [409, "An organisation keeps at least one owner."],
  too_many_organisations: [409, "The account owns as many organisations as it may."],
  too_many_workspaces: [409, "The organisation has as many workspaces as it may."],
  too_many_invitations: [409, "Too many invitations wait to be accepted."],
  too_large: [413, "The request is larger than this endpoint takes."],
  wrong_shape: [422, "The payload does not have the shape that it must have."],
  datetime_not_date: [422, "A calendar date YYYY-MM-DD is needed, not a datetime."],
  date_malformed: [422, "A calendar date YYYY-MM-DD is needed."],
  period_reversed: [422, "The period ends before it begins."],
  period_malformed: [422, "A date or a datetime of ISO 8601 is needed."],
  period_too_long: [422, "The period is longer than this endpoint answers for in one piece."],
  reason_missing: [
    422,
    "A reader who is not the author gives a reason of 1 to 2000 characters, or a view_id.",
  ],
  view_unknown: [422, "The view_id is unknown, used, expired, or another viewer's."],
  subject_mismatch: [422, "The request is not the subject's."],
  tick_missing: [422, "Both boxes must be ticked."],
  wording_unknown: [422, "The wording is none that was shown."],
  request_not_synced: [425, "The request's metadata has not arrived yet."],
  too_many_wrong_codes: [429, "Too many wrong codes; Retry-After says when to try again."],
  rate_limited: [429, "Too many requests; Retry-After says when to go on."],
  internal: [500, "The cloud could not answer."],
  unavailable: [503, "The cloud can't answer at the moment."],
} as const satisfies Record<string, readonly [status: number, title: string]>;

/** The stable word of a refusal. */
export type ProblemCode = keyof typeof PROBLEMS;

/** What goes with some refusals. */
export interface ProblemFacts {
  readonly errors?: readonly WireProblem[];
  readonly retryAfterSeconds?: number;
  /** With `period_before_floor`: the earliest instant that is answered for. */
  readonly floor?: Millis;
  /** With `plan_required`. */
  readonly requiredPlan?: Plan;
}

/** How long a client is asked to wait while the database is away, seconds. */
const UNAVAILABLE_RETRY_SECONDS = 5;

/** An RFC 9457 answer. */
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

/** The answer to a failure that nobody expected, with the words that the log gets. */
export function problemOf(error: unknown): { answer: Response; reason: string; code: string | null } {
  if (!(error instanceof DatabaseError)) {
    const reason = error instanceof Error ? error.name : typeof error;
    return { answer: problem("internal"), reason, code: null };
  }
  const { reason, code } = error;
  const passing = reason === "unavailable" || reason === "timeout" || reason === "conflict";
  const answer = passing
    ? problem("unavailable", { retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS })
    : problem("internal");
  return { answer, reason, code };
}
