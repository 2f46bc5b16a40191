import * as v from "valibot";
import { identifier, instant, name } from "./fields.ts";

/** The longest name of a saved view, in characters. */
export const SAVED_VIEW_NAME_MAX = 80;

/** The longest query string of a saved view, in UTF-16 code units. */
export const SAVED_VIEW_QUERY_MAX = 2_000;

/** How many views a person can have in a workspace. */
export const MAX_SAVED_VIEWS = 50;

/** The pages whose state can be saved, by their paths below the workspace. */
export const SAVED_VIEW_PAGES = [
  "/",
  "/explore",
  "/projects",
  "/models",
  "/savings",
  "/requests",
  "/sessions",
  "/coverage",
] as const;
export type SavedViewPage = (typeof SAVED_VIEW_PAGES)[number];

const viewName = v.pipe(v.string(), v.trim(), name(SAVED_VIEW_NAME_MAX));

/** The request of `POST …/views`. The query string is the page's, without unknown keys. */
export const newSavedViewSchema = v.object({
  name: viewName,
  page: v.picklist(SAVED_VIEW_PAGES),
  query: v.pipe(
    v.string(),
    v.maxLength(SAVED_VIEW_QUERY_MAX, `must have at most ${SAVED_VIEW_QUERY_MAX} characters`),
  ),
  /** Whether everybody in the workspace sees it. */
  shared: v.optional(v.boolean(), false),
});

/** The request of `PATCH …/views/{id}`. */
export const savedViewPatchSchema = v.pipe(
  v.object({ name: v.optional(viewName), shared: v.optional(v.boolean()) }),
  v.check((patch) => Object.keys(patch).length > 0, "must change something"),
);

/** The response of `POST …/views`. */
export const savedViewCreatedSchema = v.object({ id: identifier });

/** The response of `GET …/views`: the caller's own views and the shared ones, sorted by name. */
export const savedViewsSchema = v.object({
  items: v.array(
    v.object({
      id: identifier,
      name: v.string(),
      page: v.picklist(SAVED_VIEW_PAGES),
      query: v.string(),
      shared: v.boolean(),
      /** The person who saved it. */
      user_id: identifier,
      /** Whether the caller can change it. Administrators can change every shared view, others only their own views. */
      can_change: v.boolean(),
      created_at: instant,
    }),
  ),
});
export type SavedViews = v.InferOutput<typeof savedViewsSchema>;
