import { html } from "hono/html";
import { addQueries } from "../../core/values/text/query-string.ts";
import {
  SAVED_VIEW_NAME_MAX,
  SAVED_VIEW_PAGES,
  type SavedViews,
  savedViewsSchema,
} from "../../core/wire/saved-views.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { pageHref } from "../../pages/page-place.ts";
import { renderState } from "../../pages/states.ts";
import { listSavedViews, type SavedView } from "../store/saved-views.ts";
import { renderActionForm, renderRowButton } from "./action-form.ts";
import { notice } from "./layout.ts";
import { type FormRoute, readRoute, sendForm } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { readNamesPart, toolsOf } from "./page-tools.ts";

const PATH = "/views";

type View = SavedViews["items"][number];

/** The names of the pages whose state can be saved. */
const PAGE_NAMES: Readonly<Record<View["page"], string>> = {
  "/": "Overview",
  "/explore": "Explore",
  "/projects": "Projects",
  "/models": "Models",
  "/savings": "Savings",
  "/requests": "Requests",
  "/sessions": "Sessions",
  "/coverage": "Coverage",
};

/** `GET /w/{ws}/views`: the person's own views and the shared ones. */
export const showSavedViews = (call: PageCall): Promise<PageAnswer> => renderViews(call, null);

/** `POST /w/{ws}/views`: saves, renames, shares or deletes a view. */
export const changeSavedViews = (call: PageCall, form: URLSearchParams): Promise<PageAnswer> =>
  sendForm(call, PATH, routeOf(form), (message) => renderViews(call, message));

function routeOf(form: URLSearchParams): FormRoute<typeof PATH> | null {
  const path = `${PATH}/${encodeURIComponent(form.get("id") ?? "")}`;
  const name = form.get("name") ?? "";
  const done = form.get("action");
  switch (done) {
    case "save": {
      const [page, query] = [form.get("page") ?? "", form.get("query") ?? ""];
      return {
        method: "POST",
        path: PATH,
        body: { name, page, query, shared: form.get("shared") === "yes" },
        done,
      };
    }
    case "change":
      return { method: "PATCH", path, body: { name, shared: form.get("shared") === "yes" }, done };
    case "delete":
      return { method: "DELETE", path, done };
    default:
      return null;
  }
}

const hrefOf = ({ place }: Pick<PageCall, "place">, { page, query }: Pick<View, "page" | "query">): string =>
  addQueries(pageHref(place.base, page), query);

async function renderViews(call: PageCall, message: string | null): Promise<PageAnswer> {
  const read = await readRoute(call, PATH, savedViewsSchema);
  if (!read.ok) return read.refusal;
  const { items } = read.value;
  const people = await readNamesPart(
    call,
    items.map(({ user_id }) => user_id),
  );
  const none = renderState(
    "There are no saved views",
    "Open a page, choose filters, and save the view there.",
  );
  const list = html`<section class="panel"><div class="scroll"><table aria-label="Saved views"><thead><tr><th scope="col">View</th><th scope="col" class="desk">Page</th><th scope="col" class="desk">Saved by</th><th scope="col">Change</th></tr></thead>
<tbody>${items.map((view) => renderView(call, view, people.get(view.user_id)))}</tbody></table></div></section>`;
  return {
    heading: "Saved views",
    path: PATH,
    main: html`${notice(message)}${items.length === 0 ? none : list}`,
    tools: toolsOf(call, PATH, {}),
  };
}

function renderView(call: PageCall, view: View, person: string | undefined): Html {
  const { id, name, page, shared, can_change: canChange } = view;
  const field = `name-${id}`;
  const forms = html`<details id="change-${id}"><summary>Change<span class="hidden"> <bdi>${name}</bdi></span></summary>
${renderActionForm(call, PATH, { action: "change", id }, html`<label for="${field}">Name</label><input id="${field}" name="name" maxlength="${SAVED_VIEW_NAME_MAX}" value="${name}" required><label class="choice"><input type="checkbox" name="shared" value="yes"${shared ? html` checked` : ""}><span>Everybody in this workspace sees it</span></label><div class="actions"><button class="second">Save</button></div>`)}
${renderActionForm(call, PATH, { action: "delete", id }, renderRowButton("Delete", name, "danger"))}</details>`;
  return html`<tr><th scope="row" class="name"><a href="${hrefOf(call, view)}"><bdi>${name}</bdi></a><span class="sub">${shared ? "shared" : "private"}</span></th><td class="desk">${PAGE_NAMES[page]}</td><td class="desk">${renderName(person)}</td><td>${canChange ? forms : html`<span class="quiet">–</span>`}</td></tr>`;
}

/** Whether the state of a page can be saved. */
const isSavable = (path: string): path is View["page"] =>
  (SAVED_VIEW_PAGES as readonly string[]).includes(path);

/** Renders the menu of saved views for a page, with the form that saves it; empty for other pages. */
export async function renderViewMenu(call: PageCall, path: string): Promise<Html | ""> {
  if (!isSavable(path)) return "";
  const { env, workspace, person, parameters } = call;
  const views = await listSavedViews(env.parts.db, workspace.workspaceId, person.userId);
  const query = parameters.toString();
  return html`<details class="views" id="views"><summary>Views</summary><div>
${views.length === 0 ? html`<p class="quiet">No saved views yet.</p>` : html`<ul class="plain">${views.map((view) => renderMenuItem(call, view))}</ul>`}
${renderActionForm(call, PATH, { action: "save", page: path, query }, html`<label for="view-name">Name of this view</label><input id="view-name" name="name" maxlength="${SAVED_VIEW_NAME_MAX}" required><label class="choice"><input type="checkbox" name="shared" value="yes"><span>Everybody in this workspace sees it</span></label><div class="actions"><button class="second">Save this view</button></div>`)}
<p><a href="${call.place.base}${PATH}">All saved views</a></p></div></details>`;
}

const renderMenuItem = (call: PageCall, view: SavedView): Html =>
  html`<li><a href="${hrefOf(call, view)}"><bdi>${view.name}</bdi></a> <span class="quiet">${PAGE_NAMES[view.page]}${view.isShared ? ", shared" : ""}</span></li>`;
