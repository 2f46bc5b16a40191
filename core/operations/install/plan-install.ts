import { quoteForShell } from "../../values/text/shell-words.ts";
import { fishBlock, fishFile, sessionFile, shellBlock, shellFile } from "./environment-files.ts";
import {
  environmentAgent,
  launchAgent,
  type ServiceProgram,
  scheduledTask,
  systemdService,
  systemdSocket,
} from "./service-files.ts";
import { type InstallCommand, type InstallStep, stepKey } from "./step.ts";

/** A store of trusted certificate authorities that was found on the machine. */
export type TrustStore =
  /** Debian and its derivatives: a folder of certificates and a program that collects them. Needs root. */
  | {
      readonly kind: "update_ca_certificates";
      readonly anchorFolder: string;
      readonly words: readonly string[];
    }
  /** Fedora, Arch and their derivatives: p11-kit's `trust anchor`. Needs root. */
  | { readonly kind: "p11_kit" }
  /** A certificate database of Chromium or Firefox. */
  | { readonly kind: "nss"; readonly folder: string }
  | { readonly kind: "macos_keychain"; readonly keychain: string }
  | { readonly kind: "windows_user" };

/** The service manager that keeps the daemon running. */
export type ServiceManager =
  | { readonly kind: "systemd"; readonly unitFolder: string }
  | { readonly kind: "launchd"; readonly agentFolder: string; readonly uid: number }
  | { readonly kind: "task_scheduler"; readonly user: string };

/** A shell's start file that exists, or that belongs to the user's own shell. */
export interface ShellStartFile {
  readonly path: string;
  readonly shell: "posix" | "fish";
}

/** The facts that determine a plan. */
export interface InstallFacts {
  readonly program: ServiceProgram;
  /**
   * Distinguishes several homes of a user in the names of services and certificates: `meter`, or `meter-` and a few
   * letters.
   */
  readonly name: string;
  /** The proxy's address. A socket can be reserved only for a fixed port. */
  readonly proxy: { readonly host: string; readonly port: number };
  readonly service: ServiceManager | null;
  readonly ca: { readonly path: string; readonly pem: string; readonly sha1: string };
  readonly trustStores: readonly TrustStore[];
  /** The programs and sessions to configure; null without `--apps`. */
  readonly apps: {
    readonly variables: Readonly<Record<string, string>>;
    /** Whether the variables contain the proxy's password, so that only this user may read their files. */
    readonly hasPassword: boolean;
    readonly startFiles: readonly ShellStartFile[];
    /** The folder of environment.d(5), if systemd manages the sessions. */
    readonly sessionFolder: string | null;
  } | null;
  /** The settings of Claude Code and the command of its status line. Absent without `--statusline`. */
  readonly statusline?: { readonly settingsPath: string; readonly command: string };
}

const command = (...words: string[]): InstallCommand => ({ words });
const mayFail = (...words: string[]): InstallCommand => ({ words, mayFail: true });

/** Joins a path with the kind of slash that the folder uses. */
const below = (folder: string, ...names: string[]): string =>
  [folder, ...names].join(folder.includes("\\") ? "\\" : "/");

/** Returns a step that runs commands, and other commands to undo it. */
const commandsStep = (
  id: string,
  purpose: string,
  go: readonly InstallCommand[],
  back: readonly InstallCommand[],
): InstallStep => ({ kind: "commands", id, purpose, do: [...go], undo: [...back] });

function trustSteps(facts: InstallFacts, store: TrustStore): InstallStep[] {
  if (store.kind === "update_ca_certificates") return debianTrustSteps(facts, store);
  const { ca, name, program } = facts;
  // A copy with its own name: the authority may be reissued, and undoing the step needs the certificate that was trusted.
  const path = below(program.meterHome, `trusted-${ca.sha1.slice(0, 8).toLowerCase()}.pem`);
  return [
    { kind: "file", path, text: ca.pem, mode: 0o644 },
    trustCopyStep(store, { path, name, sha1: ca.sha1 }),
  ];
}

function debianTrustSteps(
  { ca, name }: InstallFacts,
  { anchorFolder, words }: Extract<TrustStore, { kind: "update_ca_certificates" }>,
): InstallStep[] {
  return [
    // Undoing runs in reverse order: the file is removed first, and then this command updates the system's folder. Without
    // `--fresh`, links to the removed file would remain.
    commandsStep("ca-collect-after", "", [], [command(...words, "--fresh")]),
    { kind: "file", path: below(anchorFolder, `${name}-local-ca.crt`), text: ca.pem, mode: 0o644 },
    commandsStep("ca-collect", "trust the meter's authority system-wide", [command(...words)], []),
  ];
}

/** Returns the step that adds a copy of the certificate to a trust store. */
function trustCopyStep(
  store: Exclude<TrustStore, { kind: "update_ca_certificates" }>,
  copy: { readonly path: string; readonly name: string; readonly sha1: string },
): InstallStep {
  const { path, name, sha1 } = copy;
  switch (store.kind) {
    case "p11_kit":
      return commandsStep(
        "ca-p11-kit",
        "trust the meter's authority system-wide",
        [command("trust", "anchor", "--store", path)],
        [command("trust", "anchor", "--remove", path)],
      );
    case "nss": {
      const database = `sql:${store.folder}`;
      const nickname = `${name} local CA`;
      return commandsStep(
        `ca-nss:${store.folder}`,
        `trust the meter's authority in ${store.folder}`,
        [command("certutil", "-d", database, "-A", "-t", "C,,", "-n", nickname, "-i", path)],
        [command("certutil", "-d", database, "-D", "-n", nickname)],
      );
    }
    case "macos_keychain": {
      const add = ["add-trusted-cert", "-r", "trustRoot", "-p", "ssl", "-k", store.keychain, path];
      return commandsStep(
        "ca-keychain",
        "trust the meter's authority for this user (macOS asks for the password)",
        [command("security", ...add)],
        [
          mayFail("security", "remove-trusted-cert", path),
          command("security", "delete-certificate", "-Z", sha1, store.keychain),
        ],
      );
    }
    case "windows_user":
      return commandsStep(
        "ca-windows",
        "trust the meter's authority for this user (Windows asks for confirmation)",
        [command("certutil", "-user", "-addstore", "Root", path)],
        [command("certutil", "-user", "-delstore", "Root", sha1)],
      );
  }
}

/** What the steps of every service manager do, for the user. */
const SERVICE_PURPOSE = "keep the daemon running, now and after each login";

function serviceSteps(facts: InstallFacts): InstallStep[] {
  switch (facts.service?.kind) {
    case undefined:
      return [];
    case "systemd":
      return systemdSteps(facts, facts.service.unitFolder);
    case "launchd":
      return launchdSteps(facts, facts.service);
    case "task_scheduler":
      return taskSchedulerSteps(facts, facts.service.user);
  }
}

function systemdSteps({ program, name, proxy }: InstallFacts, unitFolder: string): InstallStep[] {
  const systemctl = (...words: string[]) => command("systemctl", "--user", ...words);
  const socket = `${name}.socket`;
  const unit = `${name}.service`;
  const holdsPort = proxy.port !== 0;
  const units = holdsPort ? [socket, unit] : [unit];
  const reload = systemctl("daemon-reload");
  return [
    commandsStep("systemd-forget", "", [], [reload]),
    // The unit may contain a proxy address with a password.
    { kind: "file", path: below(unitFolder, unit), text: systemdService(program), mode: 0o600 },
    ...(holdsPort
      ? [{ kind: "file", path: below(unitFolder, socket), text: systemdSocket(proxy), mode: 0o600 } as const]
      : []),
    commandsStep(
      "systemd-enable",
      SERVICE_PURPOSE,
      [reload, systemctl("enable", ...units), ...units.map((each) => systemctl("start", each))],
      [systemctl("disable", "--now", ...units)],
    ),
  ];
}

function launchdSteps(
  { program, name }: InstallFacts,
  { agentFolder, uid }: Extract<ServiceManager, { kind: "launchd" }>,
): InstallStep[] {
  const label = `dev.llm-meter.${name}`;
  const path = below(agentFolder, `${label}.plist`);
  return [
    { kind: "file", path, text: launchAgent(label, program), mode: 0o600 },
    commandsStep(
      "launchd-bootstrap",
      SERVICE_PURPOSE,
      [command("launchctl", "bootstrap", `gui/${uid}`, path)],
      [mayFail("launchctl", "bootout", `gui/${uid}/${label}`)],
    ),
  ];
}

function taskSchedulerSteps({ program, name }: InstallFacts, user: string): InstallStep[] {
  const path = below(program.meterHome, "service.xml");
  const create = command("schtasks", "/Create", "/TN", name, "/XML", path, "/F");
  const run = command("schtasks", "/Run", "/TN", name);
  const end = mayFail("schtasks", "/End", "/TN", name);
  return [
    { kind: "file", path, text: scheduledTask(user, program), mode: 0o600 },
    commandsStep(
      "task-create",
      SERVICE_PURPOSE,
      [create, run],
      [end, command("schtasks", "/Delete", "/TN", name, "/F")],
    ),
  ];
}

function appSteps({ program, name, service, apps }: InstallFacts): InstallStep[] {
  if (apps === null) return [];
  const { variables, startFiles, sessionFolder } = apps;
  const mode = apps.hasPassword ? 0o600 : 0o644;
  const files = {
    posix: below(program.meterHome, "env.sh"),
    fish: below(program.meterHome, "env.fish"),
  };
  const stateFile = below(program.meterHome, "daemon.json");
  const shells = new Set(startFiles.map(({ shell }) => shell));
  const steps: InstallStep[] = [];
  if (shells.has("posix"))
    steps.push({ kind: "file", path: files.posix, text: shellFile(variables, stateFile), mode });
  if (shells.has("fish"))
    steps.push({ kind: "file", path: files.fish, text: fishFile(variables, stateFile), mode });
  for (const { path, shell } of startFiles) {
    const lines = shell === "fish" ? fishBlock(files.fish) : shellBlock(files.posix);
    steps.push({ kind: "block", path, lines });
  }
  if (sessionFolder !== null)
    steps.push({
      kind: "file",
      path: below(sessionFolder, `60-${name}.conf`),
      text: sessionFile(variables),
      mode,
    });
  const scope =
    service?.kind === "launchd" ? "launchd" : service?.kind === "task_scheduler" ? "registry" : null;
  if (scope !== null) {
    for (const [variable, value] of Object.entries(variables))
      steps.push({ kind: "variable", name: variable, value, scope });
  }
  if (service?.kind === "launchd") {
    const label = `dev.llm-meter.${name}.environment`;
    steps.push({
      kind: "file",
      path: below(service.agentFolder, `${label}.plist`),
      text: environmentAgent(label, variables),
      mode: 0o600,
    });
  }
  return steps;
}

/**
 * Lists all changes that `init` makes outside the meter's home, in order. The daemon starts first, then its authority is
 * trusted, and programs are configured last, so that a failure in between leaves them working.
 */
export function planInstall(facts: InstallFacts): InstallStep[] {
  const steps = [
    ...serviceSteps(facts),
    ...facts.trustStores.flatMap((store) => trustSteps(facts, store)),
    ...appSteps(facts),
    ...statuslineSteps(facts),
  ];
  // Several stores share one copy of the certificate.
  return [...new Map(steps.map((step) => [stepKey(step), step])).values()];
}

/** Returns the step that sets the status line of Claude Code. */
function statuslineSteps({ statusline }: InstallFacts): InstallStep[] {
  if (statusline === undefined) return [];
  const value = JSON.stringify({ type: "command", command: statusline.command });
  return [{ kind: "member", path: statusline.settingsPath, name: "statusLine", value }];
}

/** Returns the command that adds the authority to the system's trust store; null if none is known. */
export function trustCommandForUser(
  facts: Pick<InstallFacts, "ca" | "name">,
  tools: ReadonlySet<string>,
): string | null {
  const path = quoteForShell(facts.ca.path);
  if (tools.has("update-ca-certificates"))
    return `sudo install -m 644 ${path} /usr/local/share/ca-certificates/${facts.name}-local-ca.crt && sudo update-ca-certificates`;
  return tools.has("trust") ? `sudo trust anchor --store ${path}` : null;
}
