import { html } from "hono/html";
import { formatCount } from "../../core/values/text/format-count.ts";
import { isUuid } from "../../core/values/uuid.ts";
import { isStorableText } from "../../core/wire/characters.ts";
import type { Members } from "../../core/wire/people.ts";
import { workspacePrivacySchema } from "../../core/wire/privacy.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { createPageFile, fileFormatOf, pageFiles } from "../../pages/page-file.ts";
import { renderUnread, renderUnreadOf } from "../../pages/page-parts.ts";
import { renderTime } from "../../pages/times.ts";
import { erasePrompts } from "../erasure/run-erasure.ts";
import { problem } from "../http/problem.ts";
import { type ListedErasure, listVisibleErasures, readVisibleHoldings } from "../routes/reads/privacy.ts";
import { MAX_LISTED_ERASURES } from "../store/erasures.ts";
import type { PersonHoldings } from "../store/reads/holdings.ts";
import { renderActionForm, renderSelect } from "./action-form.ts";
import { withDone } from "./done-messages.ts";
import { notice } from "./layout.ts";
import { workspacePrivacyCsv } from "./list-csv.ts";
import { readMembersPart, readRoutePart } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { redirectTo } from "./page-parts.ts";
import { readNamesPart, sendFile, toolsOf } from "./page-tools.ts";

const PATH = "/privacy";

/** The longest name of a project. */
const MAX_PROJECT = 64;

/** `GET /w/{ws}/privacy`: what the workspace holds by person, erasing prompts, and the certificates of erasures. */
export const showPrivacy = (call: PageCall): Promise<PageAnswer> => renderPrivacy(call, null);

/**
 * `POST /w/{ws}/privacy`: erases prompts at once: a member's own, or as an administrator those of any person or project. An
 * erasure that is interrupted is finished by the hourly job.
 */
export async function erasePromptsOnPage(call: PageCall, form: URLSearchParams): Promise<PageAnswer> {
  const { env, workspace, person, place } = call;
  const isAdmin = workspace.role === "admin";
  const asked = form.get("person") ?? "";
  const userId = isAdmin ? asked || null : person.userId;
  const project = form.get("project") || null;
  if (form.get("action") !== "erase") return await renderPrivacy(call, "The form names no known action.");
  if (form.get("confirmed") !== "yes")
    return await renderPrivacy(call, "Tick the box to confirm. Nothing was erased.");
  if (userId === null && project === null)
    return await renderPrivacy(call, "Choose a person or name a project. Nothing was erased.");
  if ((project?.length ?? 0) > MAX_PROJECT)
    return await renderPrivacy(
      call,
      `The name of a project has at most ${MAX_PROJECT} characters. Nothing was erased.`,
    );
  if (!isStorableText(asked) || !isStorableText(project ?? ""))
    return await renderPrivacy(
      call,
      "The person or the project has a character that can't be stored. Nothing was erased.",
    );
  if (!isAdmin && asked !== "" && asked !== person.userId) return problem("forbidden");
  const { parts } = env;
  const scope = { workspaceId: workspace.workspaceId, userId, project };
  const { certificate } = await erasePrompts(
    { ...parts, bodyKeys: parts.bodyKeys ?? null },
    scope,
    person.userId,
  );
  const { erased } = JSON.parse(certificate) as { readonly erased: Readonly<Record<string, number>> };
  // For example, because the name of the project is misspelt.
  const isNone = Object.values(erased).every((rows) => rows === 0);
  return redirectTo(withDone(`${place.base}${PATH}`, PATH, isNone ? "erase-none" : "erase"));
}

/** `GET /w/{ws}/privacy/erasures/{id}`: the certificate of an erasure, as a file. */
export async function downloadCertificate(call: PageCall): Promise<PageAnswer> {
  const id = (call.context.req.param("id") ?? "").toLowerCase();
  const [erasure] = isUuid(id) ? await readErasures(call, id) : [];
  const certificate = erasure?.certificate ?? null;
  if (certificate === null) return problem("not_found");
  call.context.header("content-disposition", `attachment; filename="erasure-${id}.json"`);
  return call.context.body(certificate, 200, { "content-type": "application/json" });
}

const readErasures = (
  { env, workspace, person }: PageCall,
  erasureId: string | null = null,
): Promise<readonly ListedErasure[]> =>
  listVisibleErasures(env.parts.db, workspace, person.userId, erasureId);

async function renderPrivacy(call: PageCall, message: string | null): Promise<PageAnswer> {
  const { env, workspace, person, reader } = call;
  const format = fileFormatOf(call.parameters);
  if (format !== null) {
    const answer = await readRoutePart(call, PATH, workspacePrivacySchema);
    const file = { csv: () => workspacePrivacyCsv(answer), json: () => answer };
    return sendFile(call, createPageFile("privacy", format, file));
  }
  const [members, holdings, erasures] = await Promise.all([
    readMembersPart(call, { items: [] }),
    reader.read<readonly PersonHoldings[] | null>(
      "stored requests by person",
      () => readVisibleHoldings(env.parts.db, workspace, person.userId),
      null,
    ),
    reader.read<readonly ListedErasure[] | null>("erasures", () => readErasures(call), null),
  ]);
  const names = await readNamesPart(call, [
    ...(holdings ?? []).map(({ userId }) => userId),
    ...(erasures ?? []).flatMap(({ userId, actorUserId }) => [userId ?? [], actorUserId ?? []].flat()),
  ]);
  return {
    heading: "Privacy",
    path: PATH,
    main: html`${notice(message)}${renderHoldings(call, holdings, names)}${renderErase(call, members, holdings ?? [], names)}${renderErasures(call, erasures, names)}`,
    tools: toolsOf(call, PATH, pageFiles(call.place.base + PATH)),
    status: message === null ? 200 : 422,
  };
}

type Names = ReadonlyMap<string, string>;

function renderHoldings(
  { workspace }: PageCall,
  holdings: readonly PersonHoldings[] | null,
  names: Names,
): Html {
  const { storePromptContent, dataRetentionDays } = workspace;
  return html`<section class="panel" aria-labelledby="holdings-title"><h2 id="holdings-title">What this workspace holds</h2>
<p>Of each request: its time, provider, model, tokens, cost, project, branch and session, as far as the machine sent them. ${storePromptContent ? "Prompts and answers are stored if a machine sends them." : "New prompts and answers are not stored."} Of each person: the name and the email address of the account, and their machines.</p>
${
  holdings === null
    ? renderUnread("stored requests by person")
    : holdings.length === 0
      ? html`<p class="quiet">No request is stored.</p>`
      : html`<div class="scroll"><table aria-label="Holdings"><thead><tr><th scope="col">Person</th><th scope="col" class="num">Requests</th><th scope="col" class="num">Stored prompts</th></tr></thead><tbody>${holdings.map(
          ({ userId, requests, bodies }) =>
            html`<tr><th scope="row" class="name">${renderName(names.get(userId) ?? userId)}</th><td class="num">${formatCount(requests)}</td><td class="num">${formatCount(bodies)}</td></tr>`,
        )}</tbody></table></div>`
}<p class="quiet">Queries go back ${formatCount(dataRetentionDays)} days. What left a machine is listed there: <code>meter cloud privacy audit</code></p></section>`;
}

function renderErase(
  call: PageCall,
  { items }: Members,
  holdings: readonly PersonHoldings[],
  names: Names,
): Html {
  const { workspace, place } = call;
  const isAdmin = workspace.role === "admin";
  const people = new Map(holdings.map(({ userId }) => [userId, names.get(userId) ?? userId]));
  for (const { user_id: id, name, email } of items) people.set(id, name || (email ?? id));
  const choices = [["", "everyone, in one project"], ...people] as [string, string][];
  const form = renderActionForm(
    call,
    PATH,
    { action: "erase" },
    html`${isAdmin ? renderSelect("person", "Prompts of", choices, "") : ""}<label for="project">Project</label><input id="project" name="project" type="text" autocomplete="off" maxlength="${MAX_PROJECT}" aria-describedby="project-hint"><p class="hint" id="project-hint">${isAdmin ? "For one person, it can be empty: all projects." : "Empty: all projects."}</p>
<label class="choice"><input type="checkbox" name="confirmed" value="yes" required><span>Erase these prompts and answers. This can't be undone.</span></label><div class="actions"><button class="danger">Erase prompts</button></div>`,
  );
  return html`<section class="panel" aria-labelledby="erase-title"><h2 id="erase-title">${isAdmin ? "Erase prompts" : "Erase my prompts"}</h2>
<p>The keys that encrypt the prompts and answers are destroyed, so they can't be read from backups either. Tokens and costs stay.</p>${renderUnreadOf(call.reader.failed, "members")}${form}
<p class="quiet">All data of the workspace: ${workspace.isOrganisationOwner ? html`<a href="${place.base}/settings#delete-title">delete the workspace</a>` : "an owner of the organisation can delete the workspace"}. All data of your account: <a href="/account">delete the account</a>.</p></section>`;
}

function renderErasures(call: PageCall, erasures: readonly ListedErasure[] | null, names: Names): Html {
  const person = (id: string | null, none: string) =>
    id === null ? html`${none}` : renderName(names.get(id) ?? id);
  const list = html`<div class="scroll"><table aria-label="Erasures"><thead><tr><th scope="col">Erased</th><th scope="col">Prompts of</th><th scope="col" class="desk">By</th><th scope="col">Certificate</th></tr></thead><tbody>${(
    erasures ?? []
  ).map(
    ({ erasureId, userId, project, actorUserId, finishedAt, before, certificate }) =>
      html`<tr><th scope="row" class="when">${renderTime(finishedAt ?? before, call.place, true)}</th><td class="name">${person(userId, "everyone")}${project === null ? "" : html`<span class="sub">project <bdi>${project}</bdi></span>`}</td><td class="name desk">${person(actorUserId, "the operator")}</td><td>${
        certificate === null
          ? html`<span class="quiet">still running</span>`
          : html`<a href="${call.place.base}${PATH}/erasures/${erasureId}">Download<span class="hidden"> the certificate ${erasureId}</span></a>`
      }</td></tr>${certificate === null ? "" : html`<tr class="more"><td colspan="4"><details><summary>View the certificate<span class="hidden"> ${erasureId}</span></summary><pre class="body" tabindex="0">${JSON.stringify(JSON.parse(certificate), null, 2)}</pre></details></td></tr>`}`,
  )}</tbody></table></div>${
    erasures?.length === MAX_LISTED_ERASURES
      ? html`<p class="quiet">These are the newest ${MAX_LISTED_ERASURES}. The audit log has the id of each older one, which follows <code>${call.place.base}${PATH}/erasures/</code> in the address of its certificate.</p>`
      : ""
  }`;
  return html`<section class="panel" aria-labelledby="erasures-title"><h2 id="erasures-title">Erasures</h2>${erasures === null ? renderUnread("erasures") : erasures.length === 0 ? html`<p class="quiet">Nothing was erased yet.</p>` : list}</section>`;
}
