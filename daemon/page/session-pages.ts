import type { Context } from "hono";
import { printSessionQuery } from "../../core/pricing/view/session-query.ts";
import { addQueries } from "../../core/values/text/query-string.ts";
import { quoteArgument } from "../../core/values/text/shell-words.ts";
import { renderPeriods } from "../../pages/filters.ts";
import { fileFormatOf } from "../../pages/page-file.ts";
import type { PagePeriod } from "../../pages/page-period.ts";
import { sessionsCommand } from "../../pages/report-command.ts";
import { type View, viewParameters } from "../../pages/view.ts";
import { renderNoSession, renderSession, sessionHeading, sessionView } from "../../pages/views/session.ts";
import { readSessionsView, renderSessions, type SessionsView } from "../../pages/views/sessions.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { type SessionFormat, sendSession, sendSessions } from "../api/session-routes.ts";
import { readLocalPeriod } from "./page-period.ts";
import { periodParameters } from "./read-requests.ts";
import { LOCAL_SESSIONS, listSessions, MAX_SESSIONS, readSession, readSessions } from "./read-sessions.ts";
import { parametersOf, partsOf, placeOf, showNotFound, showPage, toolsOf, viewOf } from "./show-page.ts";

/** Shows the sessions of a period, or sends them as a file. */
export async function showSessions(ports: ApiPorts, context: Context) {
  const parameters = parametersOf(context);
  const view = readSessionsView(LOCAL_SESSIONS, parameters);
  const format = fileFormatOf(parameters);
  if (format !== null) {
    setFileName(context, "sessions", format);
    return sendSessions(context, await listSessions(ports, view), format);
  }
  const period = readLocalPeriod(view, ports.clock.now());
  const parts = partsOf(ports, context);
  const answer = await readSessions(ports, view, parts);
  return showPage(ports, context, {
    heading: "Sessions",
    path: "/sessions",
    controls: renderPeriods(view, placeOf(ports)),
    failedParts: parts.failed,
    main: renderSessions(answer, view, placeOf(ports)),
    tools: toolsOf(context, apiPath(view, period), {
      ...filesOf("/sessions", view),
      command: sessionsCommand(view.query, period),
    }),
  });
}

const apiPath = ({ query }: SessionsView, period: PagePeriod): string =>
  addQueries("/v1/sessions", periodParameters(period), `limit=${MAX_SESSIONS}`, printSessionQuery(query));

/** Shows one session, or sends its calls as a file. */
export async function showSession(ports: ApiPorts, context: Context, id: string) {
  const back = { path: "/sessions", name: "Sessions" };
  const parts = partsOf(ports, context);
  const answer = await readSession(ports, id, parts);
  if (answer === null) return showNotFound(ports, context, back, renderNoSession(placeOf(ports)));
  const format = fileFormatOf(parametersOf(context));
  const file = format === null ? null : sendSession(ports, context, id, format);
  if (format !== null && file !== null) {
    setFileName(context, "session", format, file);
    return file;
  }
  const path = `/sessions/${encodeURIComponent(id)}`;
  const view = viewOf(context, sessionView(path));
  return showPage(ports, context, {
    heading: sessionHeading(answer.session, placeOf(ports)),
    path: "/sessions",
    back,
    failedParts: parts.failed,
    main: renderSession(answer, view, placeOf(ports)),
    tools: toolsOf(context, `/v1${path}`, {
      ...filesOf(path, view),
      command: `meter session ${quoteArgument(id)}`,
    }),
  });
}

function setFileName(context: Context, name: string, format: SessionFormat, file?: Response) {
  const value = `attachment; filename="${name}.${format}"`;
  if (file === undefined) context.header("content-disposition", value);
  else file.headers.set("content-disposition", value);
}

function filesOf(path: string, view: View) {
  const file = (format: SessionFormat) =>
    `${path}?${new URLSearchParams([...viewParameters(view), ["format", format]])}`;
  return { csv: file("csv"), json: file("json") };
}
