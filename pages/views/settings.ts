import { html } from "hono/html";
import type { Setting, SettingGroup } from "../../core/operations/config/list-settings.ts";
import { formatBytes } from "../../core/values/text/format-bytes.ts";
import { quoteArgument } from "../../core/values/text/shell-words.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { renderUnread } from "../page-parts.ts";
import type { PagePlace } from "../page-place.ts";
import { renderState } from "../states.ts";
import { renderCommand } from "../tools.ts";

/** The settings of a machine. */
export interface SettingsAnswer {
  readonly configFile: string;
  readonly storeFile: string;
  readonly storeBytes: number;
  /** Why the file can't be read; null if it can. The settings are then those of the start. */
  readonly problem: string | null;
  readonly groups: readonly SettingGroup[];
}

/** Renders the settings in force, where each value comes from, and the command or lines that change it. */
export function renderSettings(
  answer: SettingsAnswer | null,
  cloud: string,
  bodyProjects: readonly string[] | null,
  { zone }: PagePlace,
): Html {
  if (answer === null)
    return renderState(
      "The settings are not known",
      "This daemon was started by a program that does not state them.",
    );
  const { configFile, storeFile, storeBytes, problem, groups } = answer;
  return html`${problem === null ? "" : html`<div class="notice bad" role="alert">${problem} Until it can be read, the daemon uses the settings that it started with, and sends nothing to the cloud.</div>`}
<section class="panel" aria-labelledby="machine-title"><h2 id="machine-title">This machine</h2>
<dl class="facts"><dt>Configuration</dt><dd><bdi>${configFile}</bdi></dd><dt>Database</dt><dd><bdi>${storeFile}</bdi>, ${formatBytes(storeBytes)}</dd><dt>Time zone of days</dt><dd>${zone}, that of the system</dd><dt>Cloud</dt><dd>${cloud}</dd></dl>
<p class="quiet">This page changes nothing. Settings without a command are changed in config.toml. <code>meter doctor</code> checks the file.</p></section>
${groups.map(renderGroup)}
${renderBodyProjects(bodyProjects)}`;
}

/** Renders the projects that keep bodies, each with the command that ends it. Null: they could not be read. */
function renderBodyProjects(projects: readonly string[] | null): Html {
  return html`<section class="panel"><h2>Projects that keep bodies</h2>${
    projects === null
      ? renderUnread("projects that keep bodies")
      : projects.length === 0
        ? html`<p class="quiet">None. To keep the redacted bodies of a project's requests on this machine:</p>${renderCommand("meter project PROJECT set body-capture on")}`
        : html`<p class="quiet">Bodies are redacted and stay on this machine, unless they are sent to a cloud. A project's <code>.meter.toml</code> can turn this off.</p><div class="scroll"><table aria-label="Projects that keep bodies"><thead><tr><th scope="col">Project</th><th scope="col">To end it</th></tr></thead><tbody>${projects.map(
            (project) =>
              html`<tr><th scope="row" class="name">${renderName(project)}</th><td>${renderCommand(`meter project ${quoteArgument(project)} set body-capture off`)}</td></tr>`,
          )}</tbody></table></div>`
  }</section>`;
}

function renderGroup({ title, settings }: SettingGroup): Html {
  return html`<section class="panel"><h2>${title}</h2><div class="scroll"><table class="settings" aria-label="${title}"><thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col" class="desk">From</th><th scope="col">To change it</th></tr></thead><tbody>${settings.map(renderSetting)}</tbody></table></div></section>`;
}

const renderSetting = ({ key, name, value, next, source, change }: Setting): Html =>
  html`<tr><th scope="row" class="name">${name}<span class="sub">${key}</span></th><td class="name"><bdi>${value}</bdi>${next === null ? "" : html`<span class="sub warn">at the next start: <bdi>${next}</bdi></span>`}<span class="sub phone">${source}</span></td><td class="desk">${source}</td><td><details><summary>Show<span class="hidden"> how to change ${name}</span></summary>${renderCommand(change)}</details></td></tr>`;
