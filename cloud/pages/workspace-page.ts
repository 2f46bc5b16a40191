import type { Context } from "hono";
import { html } from "hono/html";
import { FORM_STYLE } from "../../pages/client-files.data.ts";
import { type FramedPage, type NavigationItem, renderFrame } from "../../pages/frame.ts";
import type { Html } from "../../pages/html.ts";
import { fileFormatOf } from "../../pages/page-file.ts";
import { createPartReader } from "../../pages/page-parts.ts";
import { pageHref } from "../../pages/page-place.ts";
import { renderFailure } from "../../pages/states.ts";
import { checkStanding } from "../access/authorise.ts";
import type { ApiRoute } from "../api/api-routes.ts";
import { etagOf, matchesEtag } from "../http/etag.ts";
import { logFailure } from "../http/log-failure.ts";
import { type ProblemCode, problem } from "../http/problem.ts";
import type { CloudEnv } from "../ports.ts";
import { renderDone, takeDone } from "./done-messages.ts";
import { renderSignOut } from "./layout.ts";
import { currentPath, type PageAnswer, type PageCall, requireWorkspaceVisitor } from "./page-call.ts";
import { copyRefusalHeaders, type PageEnv, readForm } from "./page-parts.ts";
import { RouteRefusal } from "./route-refusal.ts";
import { renderViewMenu } from "./saved-views-page.ts";
import { sellsPlans } from "./sells-plans.ts";

/** A page of a workspace. Its place in the navigation is that in `WORKSPACE_PAGES`. */
export interface WorkspacePage {
  /** Below `/w/:ws`; `/` is the overview. */
  readonly path: string;
  /** Its name in the navigation. Absent: only other pages link to it. */
  readonly name?: string;
  /** Who can open it and sees it in the navigation. Default: every member. */
  readonly access?: NonNullable<ApiRoute["workspace"]>;
  /**
   * Whether it shows a secret, such as a new key. Such a page is not compressed, because its compressed size would
   * reveal parts of the secret (BREACH).
   */
  readonly showsSecret?: true;
  readonly get?: (call: PageCall) => PageAnswer | Promise<PageAnswer>;
  /** Answers a form of the page. */
  readonly post?: (call: PageCall, form: URLSearchParams) => PageAnswer | Promise<PageAnswer>;
}

/** Answers a request for a page of a workspace. `groups` are the pages of the navigation. */
export async function answerPage(
  env: PageEnv,
  context: Context<CloudEnv>,
  { path, access = {}, get, post }: WorkspacePage,
  groups: readonly (readonly WorkspacePage[])[],
): Promise<Response> {
  const isPost = context.req.method === "POST";
  // After signing in, a person sees the page: a browser does not send the form again.
  const visitor = await requireWorkspaceVisitor(env, context, isPost ? "/" : currentPath(context));
  if (!visitor.ok) return visitor.refusal;
  const { person, workspace } = visitor.value;
  const { clock, limits } = env.parts;
  const retryAfterSeconds = await limits.perUser.take(person.userId, clock.now());
  if (retryAfterSeconds !== null) return problem("rate_limited", { retryAfterSeconds });
  const refusal = checkStanding(workspace, access);
  if (refusal !== null) return refusal;
  const parameters = new URL(context.req.url).searchParams;
  const done = takeDone(path, parameters);
  const base = `/w/${workspace.workspaceId}`;
  const place = { zone: workspace.reportingZone, now: clock.now(), base };
  const isFile = fileFormatOf(parameters) !== null;
  const reader = createPartReader((error) => {
    // A file has all of its parts or is not sent.
    if (isFile) throw error;
    return codeOf(toRefusal(env, context, error));
  });
  const call = { ...visitor.value, env, context, parameters, place, reader };
  let answer: PageAnswer | undefined;
  if (isPost) {
    const form = await readForm(context);
    if (!form.ok) return form.refusal;
    answer = await post?.(call, form.value);
  } else answer = isFile ? await get?.(call) : await showOrFail(call, path, groups, get);
  if (answer === undefined) throw new TypeError(`the page ${path} does not answer ${context.req.method}`);
  if (answer instanceof Response) return answer;
  // A form's answer has no address to save.
  const views = isPost
    ? ""
    : await reader.read<Html | "">(
        "saved views",
        () => renderViewMenu(call, path),
        html`<span class="bad">Saved views could not be read.</span>`,
      );
  const page = renderPage(
    call,
    {
      ...answer,
      controls: html`${views}${answer.controls ?? ""}`,
      main: html`${renderDone(done)}${answer.main}`,
      failedParts: reader.failed,
      // Without the code: the message is shown once.
      ...(done !== null && { address: answer.address ?? pageHref(base, path) }),
    },
    groups,
  );
  return answer.refreshMs === undefined
    ? await context.html(page, answer.status ?? 200)
    : await answerUnlessCurrent(call, (await page).toString());
}

/** Returns the problem that an error is to the visitor, and logs the error unless a route of the API did. */
const toRefusal = ({ parts }: PageEnv, context: Context<CloudEnv>, error: unknown): Response =>
  error instanceof RouteRefusal ? error.refusal : logFailure(parts, error, context);

/** The code of a failure by its status. */
function codeOf({ status }: { readonly status: number }): ProblemCode {
  if (status === 503) return "unavailable";
  return status === 429 ? "rate_limited" : "internal";
}

/** Answers with a page, or with one that says that this page could not be read. */
async function showOrFail(
  call: PageCall,
  path: string,
  groups: readonly (readonly WorkspacePage[])[],
  get: WorkspacePage["get"],
): Promise<PageAnswer | undefined> {
  const { env, context } = call;
  let answer: PageAnswer | undefined;
  try {
    answer = await get?.(call);
  } catch (error) {
    answer = toRefusal(env, context, error);
  }
  if (!(answer instanceof Response) || answer.status < 500) return answer;
  copyRefusalHeaders(context, answer);
  return {
    heading: groups.flat().find((page) => page.path === path)?.name ?? "Error",
    title: "Error",
    path,
    main: renderFailure({
      code: codeOf(answer),
      sentence: `The log of the server has the error as request ${context.get("requestId")}. Who runs the server sees whether its database answers:`,
      command: `curl ${env.parts.config.baseUrl}/readyz`,
      address: currentPath(context),
      works: "Machines keep what they can't send, and send it later. Other pages may work.",
    }),
    status: answer.status === 503 ? 503 : 500,
  };
}

/** Answers with a page that the browser requests again and again: 304 if it has not changed. */
async function answerUnlessCurrent({ env, context }: PageCall, text: string): Promise<Response> {
  const etag = etagOf(text, env.parts.sha256);
  context.header("etag", etag);
  return matchesEtag(context.req.header("if-none-match"), etag)
    ? context.body(null, 304)
    : await context.html(text);
}

function renderPage(call: PageCall, page: FramedPage, groups: readonly (readonly WorkspacePage[])[]): Html {
  const { workspace, place } = call;
  const navigation = groups
    .map((group) =>
      group.flatMap(({ path, name, access = {} }): NavigationItem[] =>
        name === undefined || checkStanding(workspace, access) !== null ? [] : [{ path, name }],
      ),
    )
    .filter((group) => group.length > 0);
  return renderFrame(
    {
      ...place,
      navigation,
      account: { workspaces: renderWorkspaces(call), person: renderPerson(call) },
      styles: [FORM_STYLE.path],
      state: "",
      footer: html`meter, workspace <bdi>${workspace.name}</bdi>. Times are in ${place.zone}.`,
      eventsPath: null,
    },
    page,
  );
}

/** Renders the current workspace, which opens the list of the others. */
function renderWorkspaces({ workspaces, workspace }: PageCall): Html {
  if (workspaces.length === 1) return html`<p class="workspace"><bdi>${workspace.name}</bdi></p>`;
  return html`<details class="workspace" id="workspaces"><summary><bdi>${workspace.name}</bdi></summary><ul>${workspaces.map(
    ({ workspaceId, name }) =>
      html`<li><a href="/w/${workspaceId}"${workspaceId === workspace.workspaceId ? html` aria-current="true"` : ""}><bdi>${name}</bdi></a></li>`,
  )}</ul></details>`;
}

/** Renders the person with the links that are not in the navigation. */
function renderPerson({ person, workspace, place, env }: PageCall): Html {
  return html`<ul class="person"><li><a href="/connect">Connect a machine</a></li>${
    sellsPlans(env.parts.config) && workspace.role === "admin"
      ? html`<li><a href="${place.base}/subscribe">Change the plan</a></li>`
      : ""
  }<li><a href="/account">Account</a></li><li>${renderSignOut(person)}</li></ul>`;
}
