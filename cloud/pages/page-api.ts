import { parseWire, type WireSchema } from "../../core/wire/parse.ts";
import { type Machines, type Members, machinesSchema, membersSchema } from "../../core/wire/people.ts";
import type { OrRefusal } from "../http/read-payload.ts";
import { describeProblem } from "./describe-problem.ts";
import { type DoneCode, type DonePage, withDone } from "./done-messages.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { type CallApi, redirectTo } from "./page-parts.ts";
import { RouteRefusal } from "./route-refusal.ts";

/** Reads a route of the workspace. If the API refuses, returns its refusal, which the page answers with. */
export async function readRoute<T>(
  { env, context, workspace }: PageCall,
  path: string,
  schema: WireSchema<T>,
): Promise<OrRefusal<T>> {
  const answer = await env.callApi(context, "GET", `/v1/workspaces/${workspace.workspaceId}${path}`);
  if (!answer.ok) return { ok: false, refusal: answer };
  const parsed = parseWire(schema, await answer.json());
  if (!parsed.ok) throw new TypeError(`the answer of ${path} does not match its schema`);
  return parsed;
}

/** Reads a route of the workspace as a part of a page: a refusal is a failure. */
export async function readRoutePart<T>(call: PageCall, path: string, schema: WireSchema<T>): Promise<T> {
  const answer = await readRoute(call, path, schema);
  if (!answer.ok) throw new RouteRefusal(path, answer.refusal);
  return answer.value;
}

/** Reads the members of the workspace as a part of a page. Returns `without` if they can't be read. */
export const readMembersPart = <Without>(call: PageCall, without: Without): Promise<Members | Without> =>
  call.reader.read<Members | Without>(
    "members",
    () => readRoutePart(call, "/members", membersSchema),
    without,
  );

/** Reads the machines of the workspace in the same way. */
export const readMachinesPart = <Without>(call: PageCall, without: Without): Promise<Machines | Without> =>
  call.reader.read<Machines | Without>(
    "machines",
    () => readRoutePart(call, "/machines", machinesSchema),
    without,
  );

/** The route that a form of a page calls, with its path below the workspace. */
export interface FormRoute<Page extends DonePage> {
  readonly method: Exclude<Parameters<CallApi>[1], "GET">;
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** What the page says when it is done. */
  readonly done: DoneCode<Page>;
}

/** Statuses with which a page shows its form again. */
const SHOWN_AGAIN = [400, 404, 409, 422] as const;

/**
 * Calls the route of a form. On success, redirects to the page, which says so; otherwise shows it again with the reason. `describe` knows some reasons
 * better than the API's title; null for the others.
 */
export async function sendForm<Page extends DonePage>(
  call: PageCall,
  page: Page,
  route: FormRoute<Page> | null,
  show: (message: string | null) => PageAnswer | Promise<PageAnswer>,
  describe: (refusal: Response) => Promise<string | null> = async () => null,
): Promise<PageAnswer> {
  const { env, context, workspace, place } = call;
  const again = async (message: string, status: (typeof SHOWN_AGAIN)[number]): Promise<PageAnswer> => {
    const shown = await show(message);
    return shown instanceof Response ? shown : { ...shown, status };
  };
  if (route === null) return await again("The form names no known action.", 422);
  const path = `/v1/workspaces/${workspace.workspaceId}${route.path}`;
  const answer = await env.callApi(context, route.method, path, route.body);
  if (answer.ok) return redirectTo(withDone(`${place.base}${page}`, page, route.done));
  const status = SHOWN_AGAIN.find((each) => each === answer.status);
  return status === undefined
    ? answer
    : await again((await describe(answer)) ?? (await describeProblem(answer)), status);
}
