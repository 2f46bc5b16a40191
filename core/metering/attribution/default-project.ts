/** The project of calls without any project name. Source: docs/specification.md#attribution. */
export const DEFAULT_PROJECT = "misc";
